/* Primary contexts: one a device, counted by retain and release. */
#include <string.h>

#include "context.h"
#include "forget.h"
#include "memory.h"

static CUcontext primary[VF_CARDS]; /* made once, then kept for good */
static unsigned wanted_flags[VF_CARDS];

CUcontext vf_primary(CUdevice device)
{
    CUcontext context = primary[device];
    return context && context->uses ? context : NULL;
}

/* Lock held. */
static CUresult first_use(CUdevice device)
{
    if (!primary[device])
        primary[device] = vf_context_new(device, 0, 12000);
    if (!primary[device])
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = vf_context_pay(device);
    if (r)
        return r;
    primary[device]->primary = true;
    primary[device]->flags = wanted_flags[device];
    return CUDA_SUCCESS;
}

CUresult vf_primary_retain(CUcontext *out, CUdevice device)
{
    CUresult r = CUDA_SUCCESS;
    vf_memory_lock();
    if (!vf_primary(device))
        r = first_use(device);
    if (r == CUDA_SUCCESS) {
        primary[device]->uses++;
        *out = primary[device];
    }
    vf_memory_unlock();
    return r;
}

VF_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
    CUresult r = vf_enter_device("cuDevicePrimaryCtxRetain", device);
    if (r)
        return r;
    return out ? vf_primary_retain(out, device) : CUDA_ERROR_INVALID_VALUE;
}

CUresult vf_primary_release(CUdevice device)
{
    CUcontext context = vf_primary(device);
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (context->uses == 1)
        vf_context_finish(context);
    vf_memory_lock();
    if (context->uses > 0 && --context->uses == 0)
        vf_context_empty(context);
    vf_memory_unlock();
    return CUDA_SUCCESS;
}

static CUresult release(const char *call, CUdevice device)
{
    CUresult r = vf_enter_device(call, device);
    return r ? r : vf_primary_release(device);
}

VF_EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    return release("cuDevicePrimaryCtxRelease", device);
}

VF_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    return release("cuDevicePrimaryCtxRelease_v2", device);
}

static CUresult reset(const char *call, CUdevice device)
{
    CUresult r = vf_enter_device(call, device);
    CUcontext context = r ? NULL : vf_primary(device);
    if (!context)
        return r;
    vf_context_finish(context);
    vf_memory_lock();
    if (context->uses > 0)
        vf_context_empty(context);
    context->uses = 0;
    vf_memory_unlock();
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
    return reset("cuDevicePrimaryCtxReset", device);
}

VF_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    return reset("cuDevicePrimaryCtxReset_v2", device);
}

static CUresult set_flags(const char *call, CUdevice device, unsigned flags,
                          bool refuse_active)
{
    CUresult r = vf_enter_device(call, device);
    if (r)
        return r;
    if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
        return CUDA_ERROR_INVALID_VALUE;
    if (refuse_active && vf_primary(device))
        return CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE;
    wanted_flags[device] = flags;
    if (vf_primary(device))
        primary[device]->flags = flags;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags)
{
    return set_flags("cuDevicePrimaryCtxSetFlags", device, flags, true);
}

VF_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device,
                                                 unsigned flags)
{
    return set_flags("cuDevicePrimaryCtxSetFlags_v2", device, flags, false);
}

VF_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags,
                                              int *active)
{
    CUresult r = vf_enter_device("cuDevicePrimaryCtxGetState", device);
    if (r)
        return r;
    if (!flags || !active)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = wanted_flags[device];
    *active = vf_primary(device) != NULL;
    return CUDA_SUCCESS;
}

void vf_primaries_forget(void)
{
    memset(primary, 0, sizeof primary);
    memset(wanted_flags, 0, sizeof wanted_flags);
}
