/*
 * Created contexts, and what contexts take.
 * A process takes the knob context_mib of the card with its first live
 * context there, primary or created, and gives it back with the last;
 * further contexts take nothing of their own. limits.c says what a raised
 * limit takes.
 */
#include "context.h"

#include <stdlib.h>
#include <string.h>

#include "forget.h"
#include "memory.h"

static struct {
    unsigned live; /* contexts */
    uint64_t paid_bytes;
} payer[VF_CARDS];
static uint64_t last_id;
static void count_contexts(CUdevice device)
{
    struct vf_process *self = vf_self(vf_device_card(device));
    if (self)
        atomic_store(&self->contexts, payer[device].live);
}

static bool used_by_another(struct vf_card *card)
{
    vf_reap(card);
    int self = vf_self_index(card);
    for (int i = 0; i < VF_PROCESSES; i++)
        if (i != self && atomic_load(&card->processes[i].state) == VF_LIVE &&
            atomic_load(&card->processes[i].contexts) > 0)
            return true;
    return false;
}

CUresult vf_context_pay(CUdevice device)
{
    struct vf_card *card = vf_device_card(device);
    uint64_t bytes = vf_knob(card, context_mib) * VF_MIB;
    uint64_t mode = vf_knob(card, compute_mode);
    if (mode == CU_COMPUTEMODE_PROHIBITED ||
        (mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS && used_by_another(card)))
        return CUDA_ERROR_DEVICE_UNAVAILABLE;
    if (payer[device].live == 0) {
        if (!vf_take(device, bytes))
            return CUDA_ERROR_OUT_OF_MEMORY;
        payer[device].paid_bytes = bytes;
    }
    payer[device].live++;
    count_contexts(device);
    return CUDA_SUCCESS;
}

static void refund(CUdevice device)
{
    if (--payer[device].live == 0) {
        vf_pools_empty(device);
        vf_graphs_empty(device);
        vf_give(device, payer[device].paid_bytes);
    }
    count_contexts(device);
}

CUcontext vf_context_new(CUdevice device, unsigned flags, unsigned version)
{
    CUcontext context = calloc(1, sizeof *context);
    if (!context || !vf_handle_add(context, VF_HANDLE_CONTEXT)) {
        free(context);
        return NULL;
    }
    context->device = device;
    context->flags = flags;
    context->version = version;
    context->id = ++last_id;
    vf_limits_default(context);
    return context;
}

void vf_context_empty(CUcontext context)
{
    vf_ranges_drop_of(context);
    vf_arrays_drop_of(context);
    vf_give(context->device, context->limit_bytes);
    context->limit_bytes = 0;
    context->peers = 0;
    vf_limits_default(context);
    refund(context->device);
}

void vf_context_finish(CUcontext context)
{
    vf_card_wait(vf_device_card(context->device));
    vf_memory_lock();
    bool last = payer[context->device].live == 1;
    vf_memory_unlock();
    if (last)
        vf_drop_card_work(vf_device_card(context->device));
}

static CUresult make(CUcontext *out, unsigned flags, unsigned version,
                     CUdevice device)
{
    if (!out || (flags & ~(unsigned)CU_CTX_FLAGS_MASK))
        return CUDA_ERROR_INVALID_VALUE;
    vf_memory_lock();
    CUresult r = vf_context_pay(device);
    CUcontext context = r ? NULL : vf_context_new(device, flags, version);
    if (r == CUDA_SUCCESS && !context) {
        refund(device);
        r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    vf_memory_unlock();
    if (r)
        return r;
    *out = context;
    return vf_current_push(context);
}

static CUresult create(const char *call, CUcontext *out, unsigned flags,
                       unsigned version, CUdevice device)
{
    CUresult r = vf_enter_device(call, device);
    return r ? r : make(out, flags, version, device);
}

VF_EXPORT CUresult cuCtxCreate(CUcontext *out, unsigned flags, CUdevice device)
{
    return create("cuCtxCreate", out, flags, 3010, device);
}

VF_EXPORT CUresult cuCtxCreate_v2(CUcontext *out, unsigned flags,
                                  CUdevice device)
{
    return create("cuCtxCreate_v2", out, flags, 3020, device);
}

VF_EXPORT CUresult cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *affinity,
                                  int count, unsigned flags, CUdevice device)
{
    /* A part of the SMs needs MPS, which a context here never has. */
    if (count < 0 || (count > 0 && !affinity))
        return CUDA_ERROR_INVALID_VALUE;
    if (count > 0)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return create("cuCtxCreate_v3", out, flags, 11040, device);
}

VF_EXPORT CUresult cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params,
                                  unsigned flags, CUdevice device)
{
    if (params && params->cigParams)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (params && params->numExecAffinityParams > 0)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return create("cuCtxCreate_v4", out, flags, 12050, device);
}

static CUresult destroy(const char *call, CUcontext context)
{
    CUcontext found;
    if (!context)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = vf_enter_context(call, context, &found);
    if (r)
        return r;
    if (context->primary || context->green)
        return CUDA_ERROR_INVALID_CONTEXT;
    vf_context_finish(context);
    vf_memory_lock();
    vf_context_empty(context);
    vf_handle_drop(context);
    vf_memory_unlock();
    vf_current_leave(context);
    /* Not freed: other threads may have it current, and ask what it is. */
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuCtxDestroy(CUcontext context)
{
    return destroy("cuCtxDestroy", context);
}

VF_EXPORT CUresult cuCtxDestroy_v2(CUcontext context)
{
    return destroy("cuCtxDestroy_v2", context);
}

void vf_contexts_forget(void)
{
    memset(payer, 0, sizeof payer);
}
