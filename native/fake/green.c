/*
 * Green contexts: a part of the SMs, and the primary context's memory. The
 * simulated card runs one process at a time on all of its SMs, so a part of
 * them changes no speed; the books of SMs are kept as asked. A green context
 * holds one use of the primary context and takes nothing more of the card.
 */
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define SM_GROUP 8U /* SMs that are scheduled together */

struct CUdevResourceDesc_st {
    CUdevResource sms;
};

struct CUgreenCtx_st {
    CUcontext context; /* what cuCtxFromGreenCtx gives: a view, not a new one */
    CUdevResource sms;
    CUdevice device;
};

static CUdevResource sms_of(unsigned count)
{
    CUdevResource all = {.type = CU_DEV_RESOURCE_TYPE_SM};
    all.sm.smCount = count;
    all.sm.minSmPartitionSize = SM_GROUP;
    all.sm.smCoscheduledAlignment = SM_GROUP;
    return all;
}

VF_EXPORT CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *out,
                                          CUdevResourceType type)
{
    CUresult r = vf_enter_device("cuDeviceGetDevResource", device);
    if (r)
        return r;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_DEV_RESOURCE_TYPE_SM)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *out = sms_of(vf_device_sms(device));
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuDevSmResourceSplitByCount(
    CUdevResource *out, unsigned *groups, const CUdevResource *from,
    CUdevResource *rest, unsigned flags, unsigned least)
{
    CUresult r = vf_enter_driver("cuDevSmResourceSplitByCount");
    if (r)
        return r;
    if (!groups || !from)
        return CUDA_ERROR_INVALID_VALUE;
    if (from->type != CU_DEV_RESOURCE_TYPE_SM)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    unsigned step = flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING
                        ? 2 : SM_GROUP;
    unsigned each = (least + step - 1) / step * step;
    if (each == 0)
        each = step;
    if (least > from->sm.smCount)
        return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    unsigned fit = from->sm.smCount / each;
    if (out && *groups < fit)
        fit = *groups;
    for (unsigned i = 0; out && i < fit; i++)
        out[i] = sms_of(each);
    if (rest)
        *rest = sms_of(from->sm.smCount - fit * each);
    *groups = fit;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *out,
                                             CUdevResource *resources,
                                             unsigned count)
{
    unsigned sms = 0;
    CUresult r = vf_enter_driver("cuDevResourceGenerateDesc");
    if (r)
        return r;
    if (!out || !resources || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM)
            return CUDA_ERROR_INVALID_RESOURCE_TYPE;
        sms += resources[i].sm.smCount;
    }
    CUdevResourceDesc desc = malloc(sizeof *desc);
    if (!desc)
        return CUDA_ERROR_OUT_OF_MEMORY;
    desc->sms = sms_of(sms);
    vf_memory_lock();
    vf_handle_add(desc, VF_HANDLE_RESOURCES);
    vf_memory_unlock();
    *out = desc; /* the ABI has no call that frees one */
    return CUDA_SUCCESS;
}

/* Lock held. A context that shares the primary one's memory. */
static CUgreenCtx new_green(CUdevResourceDesc desc, CUdevice device)
{
    CUgreenCtx green = calloc(1, sizeof *green);
    CUcontext context = green && vf_handle_add(green, VF_HANDLE_GREEN)
                            ? vf_context_new(device, 0, 12040) : NULL;
    if (!context) {
        free(green);
        return NULL;
    }
    green->context = context;
    green->sms = desc->sms;
    green->device = device;
    context->green = green;
    return green;
}

VF_EXPORT CUresult cuGreenCtxCreate(CUgreenCtx *out, CUdevResourceDesc desc,
                                    CUdevice device, unsigned flags)
{
    CUcontext primary;
    CUresult r = vf_enter_device("cuGreenCtxCreate", device);
    if (r)
        return r;
    vf_memory_lock();
    bool known = vf_handle_is(desc, VF_HANDLE_RESOURCES);
    vf_memory_unlock();
    if (!out || !known || (flags & ~(unsigned)CU_GREEN_CTX_DEFAULT_STREAM))
        return CUDA_ERROR_INVALID_VALUE;
    r = vf_primary_retain(&primary, device);
    if (r)
        return r;
    vf_memory_lock();
    CUgreenCtx green = new_green(desc, device);
    vf_memory_unlock();
    if (!green) {
        vf_primary_release(device);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = green;
    return CUDA_SUCCESS;
}

/* Initialised, and a live green context. */
static CUresult enter(const char *call, CUgreenCtx green)
{
    CUresult r = vf_enter_driver(call);
    if (r)
        return r;
    vf_memory_lock();
    bool known = vf_handle_is(green, VF_HANDLE_GREEN);
    vf_memory_unlock();
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

VF_EXPORT CUresult cuGreenCtxDestroy(CUgreenCtx green)
{
    CUresult r = enter("cuGreenCtxDestroy", green);
    if (r)
        return r;
    vf_card_wait(vf_device_card(green->device));
    vf_memory_lock();
    vf_handle_drop(green->context);
    vf_handle_drop(green);
    vf_memory_unlock();
    return vf_primary_release(green->device);
}

VF_EXPORT CUresult cuCtxFromGreenCtx(CUcontext *out, CUgreenCtx green)
{
    CUresult r = enter("cuCtxFromGreenCtx", green);
    if (r)
        return r;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = green->context;
    return CUDA_SUCCESS;
}

static CUresult answer(CUdevResource *out, CUdevResourceType type,
                       CUdevResource sms)
{
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_DEV_RESOURCE_TYPE_SM)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *out = sms;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuGreenCtxGetDevResource(CUgreenCtx green,
                                            CUdevResource *out,
                                            CUdevResourceType type)
{
    CUresult r = enter("cuGreenCtxGetDevResource", green);
    return r ? r : answer(out, type, green->sms);
}

VF_EXPORT CUresult cuCtxGetDevResource(CUcontext context, CUdevResource *out,
                                       CUdevResourceType type)
{
    CUresult r = vf_enter_context("cuCtxGetDevResource", context, &context);
    if (r)
        return r;
    if (context->green)
        return answer(out, type, context->green->sms);
    return answer(out, type, sms_of(vf_device_sms(context->device)));
}

VF_EXPORT CUresult cuGreenCtxGetId(CUgreenCtx green, unsigned long long *id)
{
    CUresult r = enter("cuGreenCtxGetId", green);
    if (r)
        return r;
    if (!id)
        return CUDA_ERROR_INVALID_VALUE;
    *id = green->context->id;
    return CUDA_SUCCESS;
}

/* Streams and events are made for the context that is current. */
CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxPopCurrent_v2(CUcontext *out);
CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags,
                                    int priority);

VF_EXPORT CUresult cuGreenCtxStreamCreate(CUstream *out, CUgreenCtx green,
                                          unsigned flags, int priority)
{
    CUcontext popped;
    CUresult r = enter("cuGreenCtxStreamCreate", green);
    if (r)
        return r;
    if (!(flags & CU_STREAM_NON_BLOCKING))
        return CUDA_ERROR_INVALID_VALUE;
    r = cuCtxPushCurrent_v2(green->context);
    if (r)
        return r;
    r = cuStreamCreateWithPriority(out, flags, priority);
    cuCtxPopCurrent_v2(&popped);
    return r;
}
