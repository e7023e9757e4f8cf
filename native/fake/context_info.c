/* What a program may ask of a context, and small settings without effect. */
#include "memory.h"

unsigned vf_device_sms(CUdevice device)
{
    struct vf_card *card = vf_device_card(device);
    return vf_visible_sms(card, vf_self_index(card));
}

VF_EXPORT CUresult cuCtxGetDevice(CUdevice *out)
{
    CUcontext context;
    CUresult r = vf_enter("cuCtxGetDevice", &context);
    if (r)
        return r;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = context->device;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuCtxGetDevice_v2(CUdevice *out, CUcontext context)
{
    CUresult r = vf_enter_context("cuCtxGetDevice_v2", context, &context);
    if (r)
        return r;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = context->device;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuCtxGetFlags(unsigned *flags)
{
    CUcontext context;
    CUresult r = vf_enter("cuCtxGetFlags", &context);
    if (r)
        return r;
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = context->flags;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuCtxSetFlags(unsigned flags)
{
    CUcontext context;
    CUresult r = vf_enter("cuCtxSetFlags", &context);
    if (r)
        return r;
    if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
        return CUDA_ERROR_INVALID_VALUE;
    context->flags = flags;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
    CUresult r = vf_enter_context("cuCtxGetId", context, &context);
    if (r)
        return r;
    if (!id)
        return CUDA_ERROR_INVALID_VALUE;
    *id = context->id;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version)
{
    CUresult r = vf_enter_context("cuCtxGetApiVersion", context, &context);
    if (r)
        return r;
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = context->version;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuCtxGetCacheConfig(CUfunc_cache *out)
{
    CUcontext context;
    CUresult r = vf_enter("cuCtxGetCacheConfig", &context);
    if (r)
        return r;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = context->cache;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuCtxSetCacheConfig(CUfunc_cache cache)
{
    CUcontext context;
    CUresult r = vf_enter("cuCtxSetCacheConfig", &context);
    if (r)
        return r;
    if (cache > CU_FUNC_CACHE_PREFER_EQUAL)
        return CUDA_ERROR_INVALID_VALUE;
    context->cache = cache;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuCtxGetSharedMemConfig(CUsharedconfig *out)
{
    CUcontext context;
    CUresult r = vf_enter("cuCtxGetSharedMemConfig", &context);
    if (r)
        return r;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    CUcontext context;
    CUresult r = vf_enter("cuCtxSetSharedMemConfig", &context);
    if (r)
        return r;
    return config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

VF_EXPORT CUresult cuCtxResetPersistingL2Cache(void)
{
    CUcontext context;
    return vf_enter("cuCtxResetPersistingL2Cache", &context);
}

VF_EXPORT CUresult cuCtxGetExecAffinity(CUexecAffinityParam *out,
                                        CUexecAffinityType type)
{
    CUcontext context;
    CUresult r = vf_enter("cuCtxGetExecAffinity", &context);
    if (r)
        return r;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    out->type = type;
    out->param.smCount.val = vf_device_sms(context->device);
    return CUDA_SUCCESS;
}

/* From before cuCtxPushCurrent; a context has one such use and no more. */
VF_EXPORT CUresult cuCtxAttach(CUcontext *out, unsigned flags)
{
    CUcontext context;
    CUresult r = vf_enter("cuCtxAttach", &context);
    if (r)
        return r;
    if (!out || flags)
        return CUDA_ERROR_INVALID_VALUE;
    *out = context;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuCtxDetach(CUcontext context)
{
    CUcontext found;
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    return vf_enter_context("cuCtxDetach", context, &found);
}
