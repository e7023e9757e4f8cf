#include "cu_pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "log.h"
#include "session.h"

enum { MANY = 64 }; /* pools of a device that are looked at at once */

struct vx_pool {
    struct vx_pool *next;
    CUmemoryPool handle; /* NULL: destroyed; reused once nothing is in use */
    int device;
    bool exportable;     /* must stay real device memory */
    uint64_t threshold;  /* what it may keep reserved, as it was set */
    uint64_t used;       /* charged and handed out */
    uint64_t idle;       /* charged and kept */
};

static struct vx_pool *pools;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int vx_pool_device(const struct vx_pool *p)
{
    return p->device;
}

bool vx_pool_exportable(const struct vx_pool *p)
{
    return p->exportable;
}

void vx_cu_pools_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    pools = NULL;
}

static struct vx_pool *find_locked(CUmemoryPool handle)
{
    for (struct vx_pool *p = pools; p; p = p->next)
        if (p->handle == handle && (handle || p->used == 0))
            return p;
    return NULL;
}

/* Where a pool that we did not see made has its memory. */
static int ask_device(CUmemoryPool handle)
{
    CUmemLocation at = {0};
    int type = 0, id = 0;
    CUmemoryPool own;
    for (CUdevice dev = 0; vx_cu_region_device(dev) != VX_DEVICE_NONE; dev++)
        if (vx_cu()->cuDeviceGetDefaultMemPool(&own, dev) == CUDA_SUCCESS &&
            own == handle)
            return vx_cu_region_device(dev);
    if (vx_cu()->cuMemPoolGetAttribute(handle, CU_MEMPOOL_ATTR_LOCATION_TYPE,
                                       &type) != CUDA_SUCCESS ||
        vx_cu()->cuMemPoolGetAttribute(handle, CU_MEMPOOL_ATTR_LOCATION_ID,
                                       &id) != CUDA_SUCCESS)
        return VX_DEVICE_NONE;
    at.type = (CUmemLocationType)type;
    at.id = id;
    return vx_cu_location_device(&at);
}

static struct vx_pool *add(CUmemoryPool handle, int device, bool exportable)
{
    pthread_mutex_lock(&lock);
    struct vx_pool *p = find_locked(NULL);
    if (!p && (p = calloc(1, sizeof *p))) {
        p->next = pools;
        pools = p;
    }
    if (p) {
        p->handle = handle;
        p->device = device;
        p->exportable = exportable;
        p->threshold = p->idle = 0;
    }
    pthread_mutex_unlock(&lock);
    return p;
}

/* The pool of a handle; learnt at its first use. NULL: the driver's to say. */
struct vx_pool *vx_pool_of(CUmemoryPool handle)
{
    if (!handle)
        return NULL;
    pthread_mutex_lock(&lock);
    struct vx_pool *p = find_locked(handle);
    pthread_mutex_unlock(&lock);
    if (p)
        return p;
    int device = ask_device(handle);
    return device == VX_DEVICE_NONE ? NULL : add(handle, device, false);
}

/* Takes `bytes` out of a pool's idle part as far as it goes, into use. */
static uint64_t take_idle(struct vx_pool *p, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    uint64_t got = p->idle < bytes ? p->idle : bytes;
    p->idle -= got;
    p->used += bytes;
    pthread_mutex_unlock(&lock);
    return got;
}

/* Undoes take_idle: the pool has its part again, whatever its threshold. */
static void give_back(struct vx_pool *p, uint64_t bytes, uint64_t idle)
{
    pthread_mutex_lock(&lock);
    p->used -= bytes < p->used ? bytes : p->used;
    bool gone = !p->handle;
    p->idle += gone ? 0 : idle;
    pthread_mutex_unlock(&lock);
    if (gone && idle)
        vx_session_refund((unsigned)p->device, VX_MEMORY_DEVICE, idle);
}

/* The other way; what the pool does not keep is the answer. */
static uint64_t put_idle(struct vx_pool *p, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    p->used -= bytes < p->used ? bytes : p->used;
    uint64_t have = p->idle + bytes, keep = 0;
    if (p->handle && p->threshold > p->used)
        keep = p->threshold - p->used;
    p->idle = have < keep ? have : keep;
    have -= p->idle;
    pthread_mutex_unlock(&lock);
    return have;
}

struct vx_charge *vx_pool_reserve(struct vx_pool *p, uint64_t bytes,
                                  uint64_t *idle)
{
    struct vx_charge *c = vx_charge_known();
    if (!c)
        return NULL;
    *idle = take_idle(p, bytes);
    c->device = p->device;
    c->kind = VX_MEMORY_DEVICE;
    c->pool = p;
    VX_CRASH("pool.taken");
    if (vx_cu_grow(c, bytes - *idle)) {
        c->bytes += *idle; /* charged before, as the pool's */
        return c;
    }
    give_back(p, bytes, *idle);
    vx_charge_drop(c);
    return NULL;
}

void vx_pool_undo(struct vx_charge *c, uint64_t idle)
{
    c->bytes -= idle;
    give_back(c->pool, c->bytes + idle, idle);
    vx_charge_drop(c);
}

void vx_cu_pool_free(struct vx_charge *c)
{
    if (c->pool && c->life == vx_session_life()) {
        uint64_t refund = put_idle(c->pool, c->bytes);
        /* More than its own when the pool had kept above its threshold. */
        if (refund > c->bytes)
            vx_session_refund((unsigned)c->device, c->kind, refund - c->bytes);
        else
            c->bytes = refund;
    }
    vx_charge_drop(c);
}

/* Lowers what a pool keeps to `keep`. True when anything came back. */
static bool lower_idle(struct vx_pool *p, uint64_t keep)
{
    pthread_mutex_lock(&lock);
    uint64_t back = p->idle > keep ? p->idle - keep : 0;
    int device = p->device;
    p->idle -= back;
    pthread_mutex_unlock(&lock);
    VX_CRASH("pool.lowered");
    if (back)
        vx_session_refund((unsigned)device, VX_MEMORY_DEVICE, back);
    return back != 0;
}

/* What the driver says the pool keeps; our own figure where it says nothing. */
static bool reconcile(struct vx_pool *p, CUmemoryPool handle)
{
    cuuint64_t reserved = 0, used = 0;
    if (vx_cu()->cuMemPoolGetAttribute(handle,
                                       CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
                                       &reserved) != CUDA_SUCCESS ||
        vx_cu()->cuMemPoolGetAttribute(handle, CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
                                       &used) != CUDA_SUCCESS)
        return false;
    return lower_idle(p, reserved > used ? reserved - used : 0);
}

/* The pools of a device, those with idle memory if `idle`. */
static int list(int device, bool idle, struct vx_pool **found,
                CUmemoryPool *handle)
{
    int count = 0;
    pthread_mutex_lock(&lock);
    for (struct vx_pool *p = pools; p && count < MANY; p = p->next)
        if (p->handle && p->device == device && (!idle || p->idle)) {
            handle[count] = p->handle;
            found[count++] = p;
        }
    pthread_mutex_unlock(&lock);
    return count;
}

bool vx_cu_pools_trim(int device)
{
    struct vx_pool *found[MANY];
    CUmemoryPool handle[MANY];
    bool any = false;
    int count = list(device, true, found, handle);
    for (int i = 0; i < count; i++)
        if (vx_cu()->cuMemPoolTrimTo(handle[i], 0) == CUDA_SUCCESS)
            any = reconcile(found[i], handle[i]) || any;
    return any;
}

static bool is_of(struct vx_charge *c, void *arg)
{
    return c->pool == arg;
}

/* The driver emptied the pool: so do we. */
static void empty(struct vx_pool *p)
{
    vx_charge_drop_matching(VX_SPACE_MEMORY, is_of, p);
    pthread_mutex_lock(&lock);
    p->used = 0;
    pthread_mutex_unlock(&lock);
    lower_idle(p, 0);
}

void vx_cu_pools_context_gone(int device)
{
    cuuint64_t used;
    struct vx_pool *found[MANY];
    CUmemoryPool handle[MANY];
    int count = list(device, false, found, handle);
    for (int i = 0; i < count; i++) {
        used = 1;
        if (vx_cu()->cuMemPoolGetAttribute(
                handle[i], CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) !=
                CUDA_SUCCESS ||
            used == 0)
            empty(found[i]);
    }
}

CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
    if (vx_cu_mode() == VX_REFUSE)
        return CUDA_ERROR_NO_DEVICE;
    CUresult err = vx_cu()->cuMemPoolCreate(out, props);
    if (err == CUDA_SUCCESS && vx_cu_limits())
        add(*out, vx_cu_location_device(&props->location),
            props->handleTypes != CU_MEM_HANDLE_TYPE_NONE);
    return err;
}

/* Its memory is the exporter's: pointers that come through it are noted. */
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *handle,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags)
{
    CUresult err = vx_cu()->cuMemPoolImportFromShareableHandle(out, handle,
                                                               type, flags);
    if (err == CUDA_SUCCESS && vx_cu_limits())
        add(*out, VX_DEVICE_HOST, true);
    return err;
}

CUresult cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool from,
                                CUmemPoolPtrExportData *data)
{
    CUresult err = vx_cu()->cuMemPoolImportPointer(out, from, data);
    return vx_cu_note_known(err, VX_SPACE_MEMORY, err ? 0 : *out);
}

/* Another thread may get the handle again as soon as it is free. */
static void set_handle(struct vx_pool *p, CUmemoryPool handle)
{
    pthread_mutex_lock(&lock);
    p->handle = handle;
    pthread_mutex_unlock(&lock);
}

CUresult cuMemPoolDestroy(CUmemoryPool handle)
{
    struct vx_pool *p = vx_cu_limits() ? vx_pool_of(handle) : NULL;
    if (p)
        set_handle(p, NULL);
    CUresult err = vx_cu()->cuMemPoolDestroy(handle);
    if (p && err == CUDA_SUCCESS)
        lower_idle(p, 0);
    else if (p)
        set_handle(p, handle);
    return err;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
    CUresult err = vx_cu()->cuMemPoolTrimTo(handle, keep);
    struct vx_pool *p = vx_cu_limits() ? vx_pool_of(handle) : NULL;
    if (p && err == CUDA_SUCCESS)
        reconcile(p, handle);
    return err;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute name,
                               void *value)
{
    CUresult err = vx_cu()->cuMemPoolSetAttribute(handle, name, value);
    struct vx_pool *p = NULL;
    if (err == CUDA_SUCCESS && name == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD &&
        vx_cu_limits())
        p = vx_pool_of(handle);
    if (!p)
        return err;
    pthread_mutex_lock(&lock);
    p->threshold = *(const cuuint64_t *)value;
    uint64_t keep = p->threshold > p->used ? p->threshold - p->used : 0;
    pthread_mutex_unlock(&lock);
    lower_idle(p, keep);
    return err;
}

/* Which pool is current we ask the driver each time: nothing to note. */
CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool handle)
{
    return vx_cu()->cuDeviceSetMemPool(dev, handle);
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type,
                         CUmemoryPool handle)
{
    return vx_cu()->cuMemSetMemPool(location, type, handle);
}
