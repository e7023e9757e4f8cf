/* What a stream says of itself, and its attributes. */
#include <string.h>

#include "capture.h"

static CUresult get_flags(const char *call, enum vf_twin twin, CUstream handle,
                          unsigned *flags)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (r || !flags)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *flags = stream->flags;
    return CUDA_SUCCESS;
}

VF_TWINS(cuStreamGetFlags, _ptsz, (CUstream stream, unsigned *flags),
         get_flags, stream, flags)

static CUresult get_priority(const char *call, enum vf_twin twin,
                             CUstream handle, int *priority)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (r || !priority)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *priority = stream->priority;
    return CUDA_SUCCESS;
}

VF_TWINS(cuStreamGetPriority, _ptsz, (CUstream stream, int *priority),
         get_priority, stream, priority)

static CUresult get_id(const char *call, enum vf_twin twin, CUstream handle,
                       unsigned long long *id)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (r || !id)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *id = stream->unique;
    return CUDA_SUCCESS;
}

VF_TWINS(cuStreamGetId, _ptsz, (CUstream stream, unsigned long long *id),
         get_id, stream, id)

static CUresult get_context(const char *call, enum vf_twin twin,
                            CUstream handle, CUcontext *context)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (r || !context)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    r = vf_capture_refuses(stream);
    if (r)
        return r;
    *context = stream->context ? stream->context : vf_current_context();
    return CUDA_SUCCESS;
}

VF_TWINS(cuStreamGetCtx, _ptsz, (CUstream stream, CUcontext *context),
         get_context, stream, context)

static CUresult get_contexts(const char *call, enum vf_twin twin,
                             CUstream handle, CUcontext *context,
                             CUgreenCtx *green)
{
    CUcontext found;
    CUresult r = get_context(call, twin, handle, &found);
    if (r || !context || !green)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *green = found->green;
    *context = found->green ? NULL : found;
    return CUDA_SUCCESS;
}

#define GET_CTX_V2(name, twin)                                         \
    VF_EXPORT CUresult name(CUstream stream, CUcontext *context,       \
                            CUgreenCtx *green)                         \
    {                                                                  \
        return get_contexts("cuStreamGetCtx", twin, stream, context,   \
                            green);                                    \
    }
GET_CTX_V2(cuStreamGetCtx_v2, VF_LEGACY)
GET_CTX_V2(cuStreamGetCtx_v2_ptsz, VF_PER_THREAD)

VF_EXPORT CUresult cuStreamGetGreenCtx(CUstream handle, CUgreenCtx *green)
{
    CUcontext context;
    CUresult r = get_context("cuStreamGetGreenCtx", VF_LEGACY, handle,
                             &context);
    if (r || !green)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *green = context->green;
    return CUDA_SUCCESS;
}

static CUresult get_device(const char *call, enum vf_twin twin,
                           CUstream handle, CUdevice *device)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (r || !device)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *device = vf_card_device(stream->lane->card);
    return CUDA_SUCCESS;
}

VF_TWINS(cuStreamGetDevice, _ptsz, (CUstream stream, CUdevice *device),
         get_device, stream, device)

VF_EXPORT CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    CUcontext context;
    CUresult r = vf_enter("cuCtxGetStreamPriorityRange", &context);
    if (r)
        return r;
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_SUCCESS;
}

/* ---- attributes ----------------------------------------------------------- */

static CUresult get_attribute(const char *call, enum vf_twin twin,
                              CUstream handle, CUstreamAttrID id,
                              CUstreamAttrValue *value)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (r || !value)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    if (id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW)
        value->accessPolicyWindow = stream->window;
    else if (id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
        value->syncPolicy = stream->policy;
    else if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        value->priority = stream->priority;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

VF_TWINS(cuStreamGetAttribute, _ptsz,
         (CUstream stream, CUstreamAttrID id, CUstreamAttrValue *value),
         get_attribute, stream, id, value)

static CUresult set_attribute(const char *call, enum vf_twin twin,
                              CUstream handle, CUstreamAttrID id,
                              const CUstreamAttrValue *value)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (r || !value)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    if (id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW)
        stream->window = value->accessPolicyWindow;
    else if (id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
        stream->policy = value->syncPolicy;
    else if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        stream->priority = value->priority;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

VF_TWINS(cuStreamSetAttribute, _ptsz,
         (CUstream stream, CUstreamAttrID id, const CUstreamAttrValue *value),
         set_attribute, stream, id, value)

static CUresult copy_attributes(const char *call, enum vf_twin twin,
                                CUstream to, CUstream from)
{
    struct CUstream_st *target, *source;
    CUresult r = vf_stream_enter(call, to, twin, &target);
    if (!r)
        r = vf_stream_find(from, twin, &source);
    if (r)
        return r;
    target->window = source->window;
    target->policy = source->policy;
    return CUDA_SUCCESS;
}

VF_TWINS(cuStreamCopyAttributes, _ptsz, (CUstream to, CUstream from),
         copy_attributes, to, from)

static CUresult attach(const char *call, enum vf_twin twin, CUstream handle,
                       CUdeviceptr at, size_t length, unsigned flags)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (!r)
        r = vf_capture_refuses(stream);
    if (r)
        return r;
    bool single = flags == 1 || flags == 2 || flags == 4;
    if (!single || !vf_is_device_range(at, length ? length : 1))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

VF_TWINS(cuStreamAttachMemAsync, _ptsz,
         (CUstream stream, CUdeviceptr at, size_t length, unsigned flags),
         attach, stream, at, length, flags)
