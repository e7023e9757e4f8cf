/*
 * Created contexts, and the stack of current ones that each thread has.
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

#define MAX_DEPTH 64

static struct {
    unsigned live; /* contexts */
    uint64_t paid_bytes;
} payer[VF_CARDS];
static uint64_t last_id;
static _Thread_local struct {
    CUcontext at[MAX_DEPTH];
    unsigned depth;
} stack;

CUcontext vf_current_context(void)
{
    return stack.depth ? stack.at[stack.depth - 1] : NULL;
}

static bool is_live(CUcontext context)
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
    return is_live(*out) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
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
    return is_live(context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult vf_enter_device(const char *call, CUdevice device)
{
    CUresult r = vf_enter_driver(call);
    if (r)
        return r;
    return vf_device_card(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

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

struct vf_card *vf_context_card(CUcontext context)
{
    return is_live(context) ? vf_device_card(context->device) : NULL;
}

CUresult vf_current_card(struct vf_card **card)
{
    CUcontext context = vf_current_context();
    if (!vf_initialised())
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!is_live(context))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *card = vf_device_card(context->device);
    return CUDA_SUCCESS;
}

static CUresult make(CUcontext *out, unsigned flags, unsigned version,
                     CUdevice device)
{
    if (!out || (flags & ~(unsigned)CU_CTX_FLAGS_MASK))
        return CUDA_ERROR_INVALID_VALUE;
    if (stack.depth == MAX_DEPTH)
        return CUDA_ERROR_OPERATING_SYSTEM;
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
    stack.at[stack.depth++] = context;
    *out = context;
    return CUDA_SUCCESS;
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
    if (vf_current_context() == context)
        stack.depth--;
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

static CUresult push(const char *call, CUcontext context)
{
    CUcontext found;
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUresult r = vf_enter_context(call, context, &found);
    if (r)
        return r;
    if (stack.depth == MAX_DEPTH)
        return CUDA_ERROR_OPERATING_SYSTEM;
    stack.at[stack.depth++] = context;
    return CUDA_SUCCESS;
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

void vf_contexts_forget(void)
{
    memset(payer, 0, sizeof payer);
    stack.depth = 0;
}
