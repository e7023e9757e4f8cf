/*
 * Memory by handle (cuMemCreate). A handle's bytes are charged once, in a
 * backing that handles, mappings, sparse arrays and multicast objects keep
 * alive: the driver frees the memory with the last of them, so do we.
 */
#include "cu_memory.h"
#include "log.h"
#include "session.h"

static const uint64_t HANDLE_BYTES = 2 << 20;

static uint64_t handle_bytes(size_t bytes, const CUmemAllocationProp *prop)
{
    size_t unit = 0;
    if (vx_cu()->cuMemGetAllocationGranularity(
            &unit, prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS ||
        unit == 0)
        unit = HANDLE_BYTES;
    return bytes > UINT64_MAX - unit ? UINT64_MAX
                                     : (bytes + unit - 1) / unit * unit;
}

/* An entry that keeps `backing` (taking the reference); NULL: no host memory. */
static struct vx_charge *entry_of(struct vx_charge *backing)
{
    struct vx_charge *c = vx_charge_known();
    if (c)
        c->backing = backing;
    else
        vx_charge_drop(backing);
    return c;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t bytes,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    struct vx_charge *c = NULL;
    CUresult err;
    if (prop && vx_cu_mode() != VX_PASS) {
        int device = vx_cu_location_device(&prop->location);
        err = vx_cu_reserve(device, VX_MEMORY_DEVICE, handle_bytes(bytes, prop),
                            &c);
        if (err == CUDA_SUCCESS && c && !(c = entry_of(c)))
            err = CUDA_ERROR_OUT_OF_MEMORY;
        if (err != CUDA_SUCCESS)
            return err;
    }
    err = vx_cu()->cuMemCreate(out, bytes, prop, flags);
    return vx_cu_settle(c, err, VX_SPACE_HANDLE, err ? 0 : *out);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    struct vx_charge *last = NULL;
    bool known = vx_cu_limits() &&
                 vx_charge_release(VX_SPACE_HANDLE, handle, &last);
    VX_CRASH("vmm.released");
    CUresult err = vx_cu()->cuMemRelease(handle);
    if (err == CUDA_SUCCESS) {
        vx_charge_drop(last);
        if (!known && vx_cu_limits())
            vx_session_count_unknown_free();
    } else if (last) {
        vx_charge_bind(last, VX_SPACE_HANDLE, handle);
    } else if (known) {
        vx_charge_retain(VX_SPACE_HANDLE, handle);
    }
    return err;
}

/* A handle came to us again, or for the first time; `backing` may be NULL. */
static void note_handle(CUmemGenericAllocationHandle handle,
                        struct vx_charge *backing)
{
    if (vx_charge_retain(VX_SPACE_HANDLE, handle)) {
        vx_charge_drop(backing);
        return;
    }
    struct vx_charge *c = entry_of(backing);
    if (c)
        vx_charge_bind(c, VX_SPACE_HANDLE, handle);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out,
                                     void *at)
{
    CUresult err = vx_cu()->cuMemRetainAllocationHandle(out, at);
    if (err == CUDA_SUCCESS && vx_cu_limits())
        note_handle(*out, vx_cu_backing_at((uintptr_t)at));
    return err;
}

/* The exporter's charge, in whichever process it is. */
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out,
                                        void *handle,
                                        CUmemAllocationHandleType type)
{
    CUresult err = vx_cu()->cuMemImportFromShareableHandle(out, handle, type);
    if (err == CUDA_SUCCESS && vx_cu_limits())
        note_handle(*out, NULL);
    return err;
}

CUresult cuMemMap(CUdeviceptr at, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    struct vx_charge *c = NULL;
    if (vx_cu_limits()) {
        c = entry_of(vx_charge_backing(VX_SPACE_HANDLE, handle));
        if (!c)
            return CUDA_ERROR_OUT_OF_MEMORY;
        c->note = bytes;
    }
    CUresult err = vx_cu()->cuMemMap(at, bytes, offset, handle, flags);
    return vx_cu_settle(c, err, VX_SPACE_MAPPING, at);
}

/* The range holds whole mappings without a gap: walk from one to the next. */
static struct vx_charge *take_mappings(CUdeviceptr at, size_t bytes)
{
    struct vx_charge *first = NULL, *c;
    CUdeviceptr end = at + bytes;
    while (at < end && (c = vx_charge_take(VX_SPACE_MAPPING, at))) {
        at += c->note ? c->note : end - at;
        c->next = first;
        first = c;
    }
    return first;
}

CUresult cuMemUnmap(CUdeviceptr at, size_t bytes)
{
    struct vx_charge *c = vx_cu_limits() ? take_mappings(at, bytes) : NULL;
    CUresult err = vx_cu()->cuMemUnmap(at, bytes);
    VX_CRASH("vmm.unmapped");
    for (struct vx_charge *next; c; c = next) {
        next = c->next;
        if (err == CUDA_SUCCESS)
            vx_charge_drop(c);
        else
            vx_charge_bind(c, VX_SPACE_MAPPING, c->key);
    }
    return err;
}

struct around {
    CUdeviceptr at;
    struct vx_charge *backing;
};

static bool is_around(struct vx_charge *c, void *arg)
{
    struct around *a = arg;
    if (a->at < c->key || a->at - c->key >= c->note)
        return false;
    a->backing = c->backing;
    if (a->backing)
        atomic_fetch_add(&a->backing->refs, 1);
    return true;
}

struct vx_charge *vx_cu_backing_at(CUdeviceptr at)
{
    struct around a = {at, vx_charge_backing(VX_SPACE_MAPPING, at)};
    if (!a.backing)
        vx_charge_find(VX_SPACE_MAPPING, is_around, &a);
    return a.backing;
}

/*
 * Memory bound into a sparse array stays charged until that array dies, even
 * if its handle is released first. (Unbinding a part gives nothing back
 * before that: too much is held, never too little.)
 */
static void hold_by_arrays(const CUarrayMapInfo *info, unsigned int count)
{
    for (unsigned int i = 0; info && vx_cu_limits() && i < count; i++) {
        if (info[i].memOperationType != CU_MEM_OPERATION_TYPE_MAP)
            continue;
        struct vx_charge *backing =
            vx_charge_backing(VX_SPACE_HANDLE, info[i].memHandle.memHandle);
        uint64_t array = info[i].resourceType == CU_RESOURCE_TYPE_ARRAY
                             ? (uintptr_t)info[i].resource.array
                             : (uintptr_t)info[i].resource.mipmap;
        if (backing)
            vx_charge_hold(VX_SPACE_ARRAY, array, backing);
    }
}

CUresult cuMemMapArrayAsync(CUarrayMapInfo *info, unsigned int count,
                            CUstream stream)
{
    CUresult err = vx_cu()->cuMemMapArrayAsync(info, count, stream);
    if (err == CUDA_SUCCESS)
        hold_by_arrays(info, count);
    return err;
}

CUresult cuMemMapArrayAsync_ptsz(CUarrayMapInfo *info, unsigned int count,
                                 CUstream stream)
{
    CUresult err = vx_cu()->cuMemMapArrayAsync_ptsz(info, count, stream);
    if (err == CUDA_SUCCESS)
        hold_by_arrays(info, count);
    return err;
}
