/*
 * Pools between processes. An imported pool and its pointers take nothing of
 * the card; the bytes behind an imported pointer are the importer's own.
 */
#include <sys/mman.h>
#include <unistd.h>
#include <fcntl.h>
#include <string.h>

#include "pool.h"
#include "share.h"

#define POINTER_MAGIC 0x31525450584656ULL

struct pointer_data { /* in CUmemPoolPtrExportData */
    uint64_t magic, size;
    uint8_t uuid[16];
};

VF_EXPORT CUresult cuMemPoolExportToShareableHandle(
    void *out, CUmemoryPool pool, CUmemAllocationHandleType type,
    unsigned long long flags)
{
    CUresult r = vf_enter_driver("cuMemPoolExportToShareableHandle");
    if (r)
        return r;
    vf_memory_lock();
    bool can = out && flags == 0 && vf_pool_is(pool) && !pool->imported &&
               type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR &&
               (pool->props.handleTypes & (unsigned)type);
    int fd = can ? vf_share_make("pool", pool->device, 1) : -1;
    vf_memory_unlock();
    if (!can)
        return CUDA_ERROR_INVALID_VALUE;
    if (fd < 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    *(int *)out = fd;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuMemPoolImportFromShareableHandle(
    CUmemoryPool *out, void *handle, CUmemAllocationHandleType type,
    unsigned long long flags)
{
    CUdevice device;
    uint64_t bytes;
    CUresult r = vf_enter_driver("cuMemPoolImportFromShareableHandle");
    if (r)
        return r;
    if (!out || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        !vf_share_read((int)(intptr_t)handle, "pool", &device, &bytes) ||
        device < 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED};
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = device;
    vf_memory_lock();
    CUmemoryPool pool = vf_pool_new(&props);
    if (pool)
        pool->imported = true;
    vf_memory_unlock();
    *out = pool;
    return pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

VF_EXPORT CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *out,
                                          CUdeviceptr at)
{
    struct vf_range range;
    CUresult r = vf_enter_driver("cuMemPoolExportPointer");
    if (r)
        return r;
    if (!out || !vf_describe(at, &range) || range.kind != VF_RANGE_POOLED ||
        range.base != at)
        return CUDA_ERROR_INVALID_VALUE;
    struct pointer_data data = {.magic = POINTER_MAGIC, .size = range.size};
    memcpy(data.uuid, vf_device_card(range.device)->identity.uuid, 16);
    memset(out, 0, sizeof *out);
    memcpy(out, &data, sizeof data);
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool pool,
                                          CUmemPoolPtrExportData *share)
{
    struct pointer_data data;
    CUresult r = vf_enter_driver("cuMemPoolImportPointer");
    if (r)
        return r;
    if (!out || !share)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&data, share, sizeof data);
    vf_memory_lock();
    bool fits = vf_pool_is(pool) && pool->imported &&
                data.magic == POINTER_MAGIC && data.size &&
                vf_device_of_uuid(data.uuid) == pool->device;
    struct vf_range range = {.size = data.size, .kind = VF_RANGE_IMPORTED};
    if (fits) {
        range.device = pool->device;
        range.owner = pool;
        range.mapped = vf_round_up(data.size, 4096);
        void *at = vf_map(range.mapped, 4096, PROT_READ | PROT_WRITE);
        range.base = (uintptr_t)at;
        if (!at || !vf_range_add(&range))
            r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    vf_memory_unlock();
    if (!fits)
        return CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *out = range.base;
    return r;
}
