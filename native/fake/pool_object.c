/* Pools as objects: which there are, their attributes, trimming. */
#include <stdlib.h>
#include <string.h>

#include "forget.h"
#include "pool.h"

static CUmemoryPool standard[VF_CARDS], current[VF_CARDS], of_host;

CUmemoryPool vf_pool_new(const CUmemPoolProps *props)
{
    CUmemoryPool pool = calloc(1, sizeof *pool);
    if (!pool || !vf_handle_add(pool, VF_HANDLE_POOL)) {
        free(pool);
        return NULL;
    }
    pool->props = *props;
    pool->on_card = props->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    pool->device = pool->on_card ? props->location.id : 0;
    for (int i = 0; i < 3; i++)
        pool->reuse[i] = 1;
    return pool;
}

bool vf_pool_is(CUmemoryPool pool)
{
    return vf_handle_is(pool, VF_HANDLE_POOL);
}

CUmemoryPool vf_pool_default(const CUmemLocation *location)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = *location};
    CUmemoryPool *at = &of_host;
    if (location->type == CU_MEM_LOCATION_TYPE_DEVICE)
        at = vf_device_card(location->id) ? &standard[location->id] : NULL;
    else if (location->type != CU_MEM_LOCATION_TYPE_HOST &&
             location->type != CU_MEM_LOCATION_TYPE_HOST_NUMA)
        at = NULL;
    if (!at)
        return NULL;
    if (!*at)
        *at = vf_pool_new(&props);
    if (*at)
        (*at)->standard = true;
    return *at;
}

static CUmemLocation on_device(CUdevice device)
{
    CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
    location.id = device;
    return location;
}

CUmemoryPool vf_pool_current(CUdevice device)
{
    CUmemLocation location = on_device(device);
    return current[device] ? current[device] : vf_pool_default(&location);
}

uint64_t vf_pool_trim(CUmemoryPool pool, uint64_t keep)
{
    uint64_t floor = pool->used > keep ? pool->used : keep;
    uint64_t want = vf_round_up(floor, VF_PAGE_BYTES);
    if (want >= pool->reserved)
        return 0;
    uint64_t back = pool->reserved - want;
    if (pool->on_card)
        vf_give(pool->device, back);
    pool->reserved = want;
    return back;
}

void vf_pool_gone(CUmemoryPool pool)
{
    vf_pool_trim(pool, 0);
    vf_handle_drop(pool);
    free(pool);
}

struct sweep {
    CUdevice device;
    uint64_t bytes;
};

static void trim_all(void *object, void *argument)
{
    CUmemoryPool pool = object;
    struct sweep *sweep = argument;
    if (pool->on_card && pool->device == sweep->device)
        sweep->bytes += vf_pool_trim(pool, 0);
}

uint64_t vf_pools_trim(CUdevice device)
{
    struct sweep sweep = {device, 0};
    vf_handles_each(VF_HANDLE_POOL, trim_all, &sweep);
    return sweep.bytes;
}

static void trim_to_threshold(void *object, void *argument)
{
    CUmemoryPool pool = object;
    (void)argument;
    if (pool->reserved > pool->threshold)
        vf_pool_trim(pool, pool->threshold);
}

void vf_pools_synchronised(void)
{
    vf_memory_lock();
    vf_handles_each(VF_HANDLE_POOL, trim_to_threshold, NULL);
    vf_memory_unlock();
}

static void empty_pool(void *object, void *argument)
{
    CUmemoryPool pool = object;
    const CUdevice *device = argument;
    if (!pool->on_card || pool->device != *device)
        return;
    vf_ranges_drop_owned(pool);
    pool->used = pool->blocks = 0;
    vf_pool_trim(pool, 0);
    if (pool->destroyed)
        vf_pool_gone(pool);
}

void vf_pools_empty(CUdevice device)
{
    vf_handles_each(VF_HANDLE_POOL, empty_pool, &device);
    current[device] = NULL;
}

VF_EXPORT CUresult cuMemPoolCreate(CUmemoryPool *out,
                                   const CUmemPoolProps *props)
{
    CUresult r = vf_enter_driver("cuMemPoolCreate");
    if (r)
        return r;
    if (!out || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        (props->handleTypes &
         ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return CUDA_ERROR_INVALID_VALUE;
    vf_memory_lock();
    bool valid = vf_pool_default(&props->location) != NULL;
    CUmemoryPool pool = valid ? vf_pool_new(props) : NULL;
    vf_memory_unlock();
    if (!valid)
        return CUDA_ERROR_INVALID_VALUE;
    *out = pool;
    return pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

VF_EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    CUresult r = vf_enter_driver("cuMemPoolDestroy");
    if (r)
        return r;
    vf_memory_lock();
    if (!vf_pool_is(pool) || pool->standard || pool->destroyed) {
        r = CUDA_ERROR_INVALID_VALUE;
    } else {
        if (current[pool->device] == pool)
            current[pool->device] = NULL;
        pool->destroyed = true;
        if (pool->blocks == 0)
            vf_pool_gone(pool);
    }
    vf_memory_unlock();
    return r;
}

VF_EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
    CUresult r = vf_enter_driver("cuMemPoolTrimTo");
    if (r)
        return r;
    vf_memory_lock();
    if (vf_pool_is(pool))
        vf_pool_trim(pool, keep);
    else
        r = CUDA_ERROR_INVALID_VALUE;
    vf_memory_unlock();
    return r;
}

/* Lock held. `pool` NULL asks, else sets. */
static CUresult current_pool(CUdevice device, CUmemoryPool pool,
                             CUmemoryPool *out)
{
    if (out)
        *out = vf_pool_current(device);
    else if (!vf_pool_is(pool) || !pool->on_card || pool->device != device ||
             pool->imported)
        return CUDA_ERROR_INVALID_VALUE;
    else
        current[device] = pool;
    return CUDA_SUCCESS;
}

static CUresult use(const char *call, CUdevice device, CUmemoryPool pool,
                    CUmemoryPool *out)
{
    CUresult r = vf_enter_device(call, device);
    if (r)
        return r;
    if (!pool && !out)
        return CUDA_ERROR_INVALID_VALUE;
    vf_memory_lock();
    r = current_pool(device, pool, out);
    vf_memory_unlock();
    return r;
}

VF_EXPORT CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    return use("cuDeviceSetMemPool", device, pool, NULL);
}

VF_EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice device)
{
    return use("cuDeviceGetMemPool", device, NULL, out);
}

static CUresult default_pool(CUmemoryPool *out, const CUmemLocation *location)
{
    if (!out || !location)
        return CUDA_ERROR_INVALID_VALUE;
    vf_memory_lock();
    CUmemoryPool pool = vf_pool_default(location);
    vf_memory_unlock();
    if (!pool)
        return CUDA_ERROR_INVALID_VALUE;
    *out = pool;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice device)
{
    CUmemLocation location = on_device(device);
    CUresult r = vf_enter_device("cuDeviceGetDefaultMemPool", device);
    return r ? r : default_pool(out, &location);
}

VF_EXPORT CUresult cuMemGetDefaultMemPool(CUmemoryPool *out,
                                          CUmemLocation *location,
                                          CUmemAllocationType type)
{
    CUresult r = vf_enter_driver("cuMemGetDefaultMemPool");
    if (r)
        return r;
    return type == CU_MEM_ALLOCATION_TYPE_PINNED ? default_pool(out, location)
                                                 : CUDA_ERROR_NOT_SUPPORTED;
}

VF_EXPORT CUresult cuMemGetMemPool(CUmemoryPool *out, CUmemLocation *location,
                                   CUmemAllocationType type)
{
    if (location && location->type == CU_MEM_LOCATION_TYPE_DEVICE &&
        type == CU_MEM_ALLOCATION_TYPE_PINNED)
        return use("cuMemGetMemPool", location->id, NULL, out);
    return cuMemGetDefaultMemPool(out, location, type);
}

VF_EXPORT CUresult cuMemSetMemPool(CUmemLocation *location,
                                   CUmemAllocationType type, CUmemoryPool pool)
{
    if (!location)
        return CUDA_ERROR_INVALID_VALUE;
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
        type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_NOT_SUPPORTED;
    return use("cuMemSetMemPool", location->id, pool, NULL);
}

void vf_pools_forget(void)
{
    memset(standard, 0, sizeof standard);
    memset(current, 0, sizeof current);
    of_host = NULL;
}
