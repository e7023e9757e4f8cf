/*
 * Contexts: a process's first one on a device reserves ctx_bytes there, the
 * last one gives them back and takes along what was allocated in it.
 */
#include <pthread.h>

#include "cu_gate.h"
#include "cu_memory.h"
#include "log.h"
#include "session.h"

struct place {
    struct vx_charge *charge; /* while any context lives */
    unsigned created;         /* by the program itself */
    unsigned entering;        /* retains of the primary one under way */
    bool primary;
    uint64_t generation;      /* of the primary one; bumped by each retain */
};

static struct place places[VX_MAX_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Owner ids: the primary context's is its device + 1, others count up. */
static _Atomic uint64_t serial = 1000;
static _Atomic unsigned created_count;

void vx_cu_contexts_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    for (int i = 0; i < VX_MAX_DEVICES; i++)
        places[i] = (struct place){0};
    created_count = 0;
}

static uint64_t primary_owner(int device)
{
    return (uint64_t)device + 1;
}

uint64_t vx_cu_owner(int device)
{
    CUcontext ctx = NULL;
    struct vx_charge entry;
    if (atomic_load(&created_count) &&
        vx_cu()->cuCtxGetCurrent(&ctx) == CUDA_SUCCESS && ctx &&
        vx_charge_look(VX_SPACE_CONTEXT, (uintptr_t)ctx, &entry))
        return entry.note;
    return device < 0 ? 0 : primary_owner(device);
}

/* Room for a context, taken once a process and device. */
static CUresult enter(int device, bool primary)
{
    struct place *p = &places[device];
    const struct vx_limits_device *l = vx_session_limits((unsigned)device);
    pthread_mutex_lock(&lock);
    if (!p->charge)
        p->charge = vx_charge_make(device, VX_MEMORY_CONTEXT,
                                   vx_mem_round(atomic_load(&l->ctx_bytes)));
    bool got = p->charge != NULL;
    if (got && primary) {
        p->primary = true;
        p->entering++;
        p->generation++;
    } else if (got) {
        p->created++;
    }
    pthread_mutex_unlock(&lock);
    VX_CRASH("context.entered");
    return got ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* True when that was the process's last context on the device. */
static bool leave_locked(struct place *p)
{
    if (p->primary || p->created)
        return false;
    vx_charge_drop(p->charge);
    p->charge = NULL;
    return true;
}

/* The primary context may have ended: others may be retaining it again. */
static void look_at_primary(int device)
{
    struct place *p = &places[device];
    unsigned int flags;
    int active = 1;
    pthread_mutex_lock(&lock);
    uint64_t generation = p->generation;
    bool worth = p->primary && !p->entering;
    pthread_mutex_unlock(&lock);
    if (!worth || vx_cu()->cuDevicePrimaryCtxGetState(
                      vx_cu_device_of(device), &flags, &active) != CUDA_SUCCESS)
        return;
    bool last = false;
    pthread_mutex_lock(&lock);
    if (!active && p->generation == generation && !p->entering) {
        VX_CRASH("context.gone");
        p->primary = false;
        vx_charge_drop_owned(primary_owner(device));
        last = leave_locked(p);
    }
    pthread_mutex_unlock(&lock);
    if (last)
        vx_cu_pools_context_gone(device);
}

/* Whether a call on `dev` goes on; *device >= 0 when we are to account. */
static CUresult may_enter(CUdevice dev, bool primary, int *device)
{
    enum vx_mode mode = vx_cu_mode();
    *device = -1;
    if (mode == VX_REFUSE)
        return CUDA_ERROR_NO_DEVICE;
    if (mode == VX_PASS)
        return CUDA_SUCCESS;
    int at = vx_cu_region_device(dev);
    if (at == VX_DEVICE_FOREIGN)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (at < 0)
        return CUDA_SUCCESS; /* the driver's to refuse */
    CUresult err = enter(at, primary);
    if (err == CUDA_SUCCESS)
        *device = at;
    return err;
}

static CUresult entered_primary(int device, CUresult err)
{
    if (device < 0)
        return err;
    pthread_mutex_lock(&lock);
    places[device].entering--;
    pthread_mutex_unlock(&lock);
    if (err != CUDA_SUCCESS)
        look_at_primary(device);
    return err;
}

static CUresult left_primary(int device, CUresult err)
{
    if (err == CUDA_SUCCESS && device >= 0 && vx_cu_limits())
        look_at_primary(device);
    return err;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice dev)
{
    int device;
    CUresult err = may_enter(dev, true, &device);
    if (err != CUDA_SUCCESS)
        return err;
    return entered_primary(device, vx_cu()->cuDevicePrimaryCtxRetain(out, dev));
}

/* It may be the last reference: the gate's events go with the context. */
static int limited_device(CUdevice dev)
{
    int device = vx_cu_limits() ? vx_cu_region_device(dev) : VX_DEVICE_NONE;
    if (device >= 0)
        vx_gate_forget_device(device);
    return device;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
    int device = limited_device(dev);
    return left_primary(device, vx_cu()->cuDevicePrimaryCtxRelease(dev));
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    int device = limited_device(dev);
    return left_primary(device, vx_cu()->cuDevicePrimaryCtxRelease_v2(dev));
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
    int device = limited_device(dev);
    return left_primary(device, vx_cu()->cuDevicePrimaryCtxReset(dev));
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    int device = limited_device(dev);
    return left_primary(device, vx_cu()->cuDevicePrimaryCtxReset_v2(dev));
}

/* A green context lives in the primary one and keeps it. */
CUresult cuGreenCtxCreate(CUgreenCtx *out, CUdevResourceDesc what, CUdevice dev,
                          unsigned int flags)
{
    int device;
    CUresult err = may_enter(dev, true, &device);
    if (err != CUDA_SUCCESS)
        return err;
    return entered_primary(device,
                           vx_cu()->cuGreenCtxCreate(out, what, dev, flags));
}

CUresult cuGreenCtxDestroy(CUgreenCtx ctx)
{
    for (unsigned i = 0; vx_cu_limits() && i < vx_session_device_count(); i++)
        vx_gate_forget_device((int)i);
    CUresult err = vx_cu()->cuGreenCtxDestroy(ctx);
    if (err == CUDA_SUCCESS && vx_cu_limits())
        for (unsigned i = 0; i < vx_session_device_count(); i++)
            look_at_primary((int)i);
    return err;
}

static void leave_created(int device)
{
    pthread_mutex_lock(&lock);
    if (places[device].created)
        places[device].created--;
    bool last = leave_locked(&places[device]);
    pthread_mutex_unlock(&lock);
    if (last)
        vx_cu_pools_context_gone(device);
}

static CUresult created(int device, CUresult err, CUcontext *out)
{
    struct vx_charge *c = NULL;
    if (device < 0)
        return err;
    if (err == CUDA_SUCCESS && (c = vx_charge_known())) {
        c->device = device;
        c->note = atomic_fetch_add(&serial, 1);
        vx_charge_bind(c, VX_SPACE_CONTEXT, (uintptr_t)*out);
        atomic_fetch_add(&created_count, 1);
    }
    if (!c)
        leave_created(device);
    return err;
}

CUresult cuCtxCreate(CUcontext *out, unsigned int flags, CUdevice dev)
{
    int device;
    CUresult err = may_enter(dev, false, &device);
    if (err != CUDA_SUCCESS)
        return err;
    return created(device, vx_cu()->cuCtxCreate(out, flags, dev), out);
}

CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice dev)
{
    int device;
    CUresult err = may_enter(dev, false, &device);
    if (err != CUDA_SUCCESS)
        return err;
    return created(device, vx_cu()->cuCtxCreate_v2(out, flags, dev), out);
}

CUresult cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *affinity,
                        int count, unsigned int flags, CUdevice dev)
{
    int device;
    CUresult err = may_enter(dev, false, &device);
    if (err != CUDA_SUCCESS)
        return err;
    err = vx_cu()->cuCtxCreate_v3(out, affinity, count, flags, dev);
    return created(device, err, out);
}

CUresult cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params,
                        unsigned int flags, CUdevice dev)
{
    int device;
    CUresult err = may_enter(dev, false, &device);
    if (err != CUDA_SUCCESS)
        return err;
    err = vx_cu()->cuCtxCreate_v4(out, params, flags, dev);
    return created(device, err, out);
}

/* A destroyed context takes its memory along. */
static CUresult destroyed(struct vx_charge *c, CUresult err)
{
    if (!c)
        return err;
    if (err != CUDA_SUCCESS) {
        vx_charge_bind(c, VX_SPACE_CONTEXT, c->key);
        return err;
    }
    VX_CRASH("context.destroyed");
    vx_charge_drop_owned(c->note);
    atomic_fetch_sub(&created_count, 1);
    leave_created(c->device);
    vx_charge_drop(c);
    return err;
}

CUresult cuCtxDestroy(CUcontext ctx)
{
    struct vx_charge *c = vx_cu_take(VX_SPACE_CONTEXT, (uintptr_t)ctx);
    if (c)
        vx_gate_forget_device(c->device);
    return destroyed(c, vx_cu()->cuCtxDestroy(ctx));
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
    struct vx_charge *c = vx_cu_take(VX_SPACE_CONTEXT, (uintptr_t)ctx);
    if (c)
        vx_gate_forget_device(c->device);
    return destroyed(c, vx_cu()->cuCtxDestroy_v2(ctx));
}

CUresult cuCtxAttach(CUcontext *out, unsigned int flags)
{
    CUresult err = vx_cu()->cuCtxAttach(out, flags);
    if (err == CUDA_SUCCESS && vx_cu_limits())
        vx_charge_retain(VX_SPACE_CONTEXT, (uintptr_t)*out);
    return err;
}

CUresult cuCtxDetach(CUcontext ctx)
{
    struct vx_charge *last = NULL;
    bool known = vx_cu_limits() && vx_charge_release(VX_SPACE_CONTEXT,
                                                     (uintptr_t)ctx, &last);
    if (last)
        vx_gate_forget_device(last->device);
    CUresult err = vx_cu()->cuCtxDetach(ctx);
    if (err != CUDA_SUCCESS && known && !last)
        vx_charge_retain(VX_SPACE_CONTEXT, (uintptr_t)ctx);
    return destroyed(last, err);
}
