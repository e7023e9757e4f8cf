/*
 * The stack of current contexts that each thread has, and what every call
 * asks of the current one first.
 */
#include "context.h"

#include "forget.h"
#include "memory.h"

#define MAX_DEPTH 64

static _Thread_local struct {
    CUcontext at[MAX_DEPTH];
    unsigned depth;
} stack;

CUcontext vf_current_context(void)
{
    return stack.depth ? stack.at[stack.depth - 1] : NULL;
}

bool vf_context_lives(CUcontext context)
{
    vf_memory_lock();
    bool live = vf_handle_is(context, VF_HANDLE_CONTEXT) &&
                (!context->primary || context->uses > 0);
    vf_memory_unlock();
    return live;
}

CUresult vf_enter_driver(const char *call)
{
    CUresult r = CUDA_SUCCESS;
    if (!vf_initialised())
        return CUDA_ERROR_NOT_INITIALIZED;
    vf_forget_at_fork();
    vf_checkpoint_gate();
    return vf_inject(call, &r) ? r : CUDA_SUCCESS;
}

CUresult vf_enter(const char *call, CUcontext *out)
{
    CUresult r = vf_enter_driver(call);
    if (r)
        return r;
    *out = vf_current_context();
    if (!*out)
        return CUDA_ERROR_INVALID_CONTEXT;
    return vf_context_lives(*out) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult vf_enter_owner(const char *call, CUcontext *out)
{
    CUresult r = vf_enter(call, out);
    if (r == CUDA_SUCCESS && (*out)->green)
        *out = vf_primary((*out)->device);
    return r;
}

CUresult vf_enter_context(const char *call, CUcontext context, CUcontext *out)
{
    if (!context)
        return vf_enter(call, out);
    CUresult r = vf_enter_driver(call);
    if (r)
        return r;
    *out = context;
    return vf_context_lives(context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult vf_enter_device(const char *call, CUdevice device)
{
    CUresult r = vf_enter_driver(call);
    if (r)
        return r;
    return vf_device_card(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

struct vf_card *vf_context_card(CUcontext context)
{
    return vf_context_lives(context) ? vf_device_card(context->device) : NULL;
}

CUresult vf_current_card(struct vf_card **card)
{
    CUcontext context = vf_current_context();
    if (!vf_initialised())
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!vf_context_lives(context))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *card = vf_device_card(context->device);
    return CUDA_SUCCESS;
}

CUresult vf_current_push(CUcontext context)
{
    if (stack.depth == MAX_DEPTH)
        return CUDA_ERROR_OPERATING_SYSTEM;
    stack.at[stack.depth++] = context;
    return CUDA_SUCCESS;
}

void vf_current_leave(CUcontext context)
{
    if (vf_current_context() == context)
        stack.depth--;
}

static CUresult push(const char *call, CUcontext context)
{
    CUcontext found;
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUresult r = vf_enter_context(call, context, &found);
    if (r)
        return r;
    return vf_current_push(context);
}

VF_EXPORT CUresult cuCtxPushCurrent(CUcontext context)
{
    return push("cuCtxPushCurrent", context);
}

VF_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    return push("cuCtxPushCurrent_v2", context);
}

static CUresult pop(const char *call, CUcontext *out)
{
    CUresult r = vf_enter_driver(call);
    if (r)
        return r;
    if (stack.depth == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUcontext context = stack.at[--stack.depth];
    if (out)
        *out = context;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuCtxPopCurrent(CUcontext *out)
{
    return pop("cuCtxPopCurrent", out);
}

VF_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *out)
{
    return pop("cuCtxPopCurrent_v2", out);
}

VF_EXPORT CUresult cuCtxSetCurrent(CUcontext context)
{
    CUcontext found;
    CUresult r = context ? vf_enter_context("cuCtxSetCurrent", context, &found)
                         : vf_enter_driver("cuCtxSetCurrent");
    if (r)
        return r;
    if (stack.depth)
        stack.depth--;
    if (context)
        stack.at[stack.depth++] = context;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuCtxGetCurrent(CUcontext *out)
{
    CUresult r = vf_enter_driver("cuCtxGetCurrent");
    if (r)
        return r;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = vf_current_context();
    return CUDA_SUCCESS;
}

void vf_currents_forget(void)
{
    stack.depth = 0;
}
