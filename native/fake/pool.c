/*
 * Stream-ordered memory. A pool takes the card's bytes in steps of 32 MiB
 * (2 MiB where no more is left) and keeps them: until a trim, or until a
 * synchronising call finds more than its release threshold, or until the
 * card is full and something else of the process needs them.
 * A free counts at the call, so the next allocation may use it, whatever the
 * stream; the address goes when the stream gets there.
 */
#include "pool.h"

#include <sys/mman.h>

#define STEP_BYTES (32 * VF_MIB)

static uint64_t shortage(const struct CUmemoryPool_st *pool, uint64_t bytes)
{
    uint64_t need = vf_round_up(pool->used + bytes, VF_PAGE_BYTES);
    return need > pool->reserved ? need - pool->reserved : 0;
}

static bool too_large(const struct CUmemoryPool_st *pool, uint64_t more)
{
    return pool->props.maxSize && pool->reserved + more > pool->props.maxSize;
}

static void reserve(struct CUmemoryPool_st *pool, uint64_t bytes)
{
    pool->reserved += bytes;
    if (pool->reserved > pool->reserved_high)
        pool->reserved_high = pool->reserved;
}

/* Lock held. */
static bool grow(struct CUmemoryPool_st *pool, uint64_t bytes)
{
    struct vf_card *card = vf_device_card(pool->device);
    uint64_t more = shortage(pool, bytes);
    if (more == 0)
        return true;
    uint64_t step = vf_round_up(more, STEP_BYTES);
    if (!pool->on_card || (!too_large(pool, step) && vf_mem_take(card, step))) {
        reserve(pool, step);
        return true;
    }
    vf_pools_trim(pool->device);
    more = shortage(pool, bytes);
    if (too_large(pool, more) || !vf_mem_take(card, more))
        return false;
    reserve(pool, more);
    return true;
}

/* Lock held. */
static CUresult take_block(struct CUmemoryPool_st *pool, uint64_t size,
                           uint64_t *out)
{
    uint64_t bytes = vf_round_up(size, VF_ALIGN_BYTES);
    struct vf_range range = {.size = size, .kind = VF_RANGE_POOLED,
                             .device = pool->device, .owner = pool};
    range.mapped = vf_round_up(size, 4096);
    if (size > UINT64_MAX / 4 || !grow(pool, bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    void *at = vf_map(range.mapped, 4096, PROT_READ | PROT_WRITE);
    range.base = (uintptr_t)at;
    if (!at || !vf_range_add(&range)) {
        if (at)
            vf_unmap(at, range.mapped);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pool->used += bytes;
    pool->blocks++;
    if (pool->used > pool->used_high)
        pool->used_high = pool->used;
    *out = range.base;
    return CUDA_SUCCESS;
}

/* Lock held: `pool` NULL is the device's current one. */
static CUresult take_from(CUmemoryPool pool, CUdevice device, uint64_t size,
                          uint64_t *out)
{
    if (!pool)
        pool = vf_pool_current(device);
    else if (!vf_pool_is(pool) || pool->destroyed || pool->imported)
        return CUDA_ERROR_INVALID_VALUE;
    return pool ? take_block(pool, size, out) : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult allocate(const char *call, CUdeviceptr *out, size_t size,
                         CUmemoryPool pool, CUstream stream, enum vf_twin twin)
{
    CUcontext context;
    struct vf_card *card;
    CUresult r = vf_enter(call, &context);
    if (r)
        return r;
    if (!out || size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEM_ALLOC_NODE_PARAMS node = {.bytesize = size};
    node.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    node.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    node.poolProps.location.id = context->device;
    if (vf_capture_alloc(stream, twin, &node, &r)) {
        if (r == CUDA_SUCCESS)
            *out = node.dptr;
        return r;
    }
    r = vf_stream_card(stream, &card);
    if (r)
        return r;
    uint64_t at = 0;
    vf_memory_lock();
    r = take_from(pool, vf_card_device(card), size, &at);
    vf_memory_unlock();
    if (r == CUDA_SUCCESS)
        *out = at;
    return r;
}

VF_EXPORT CUresult cuMemAllocAsync(CUdeviceptr *out, size_t size,
                                   CUstream stream)
{
    return allocate("cuMemAllocAsync", out, size, NULL, stream, VF_LEGACY);
}

VF_EXPORT CUresult cuMemAllocAsync_ptsz(CUdeviceptr *out, size_t size,
                                        CUstream stream)
{
    return allocate("cuMemAllocAsync_ptsz", out, size, NULL, stream,
                    VF_PER_THREAD);
}

VF_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size,
                                           CUmemoryPool pool, CUstream stream)
{
    return pool ? allocate("cuMemAllocFromPoolAsync", out, size, pool, stream,
                           VF_LEGACY)
                : CUDA_ERROR_INVALID_VALUE;
}

VF_EXPORT CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *out, size_t size,
                                                CUmemoryPool pool,
                                                CUstream stream)
{
    return pool ? allocate("cuMemAllocFromPoolAsync_ptsz", out, size, pool,
                           stream, VF_PER_THREAD)
                : CUDA_ERROR_INVALID_VALUE;
}

/* Lock held: the pool has the bytes again, the range is forgotten. */
static void forget_block(struct vf_range *range)
{
    CUmemoryPool pool = range->owner;
    pool->used -= vf_round_up(range->size, VF_ALIGN_BYTES);
    pool->blocks--;
    vf_range_drop(range);
    if (pool->destroyed && pool->blocks == 0)
        vf_pool_gone(pool);
}

void vf_pool_free(struct vf_range *range)
{
    forget_block(range);
}

struct mapping {
    uint64_t base, bytes;
};

static void unmap_effect(void *argument)
{
    const struct mapping *mapping = argument;
    vf_unmap((void *)(uintptr_t)mapping->base, mapping->bytes);
}

/* Lock held: what the stream unmaps when it gets there. */
static CUresult let_go(uint64_t at, struct mapping *out)
{
    struct vf_range *range = vf_range_from(at);
    if (!range)
        return CUDA_ERROR_INVALID_VALUE;
    if (range->kind != VF_RANGE_POOLED && range->kind != VF_RANGE_IMPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (struct mapping){range->base, range->mapped};
    range->mapped = 0;
    if (range->kind == VF_RANGE_POOLED)
        forget_block(range);
    else
        vf_range_drop(range);
    return CUDA_SUCCESS;
}

static CUresult free_graph_block(uint64_t at, CUdevice device)
{
    vf_card_wait(vf_device_card(device));
    vf_graph_memory_free(vf_device_card(device), at);
    return CUDA_SUCCESS;
}

static CUresult free_async(const char *call, CUdeviceptr at, CUstream stream,
                           enum vf_twin twin)
{
    CUcontext context;
    struct vf_range seen;
    CUresult r = vf_enter(call, &context);
    if (r || vf_capture_free(stream, twin, at, &r))
        return r;
    if (!vf_describe(at, &seen) || seen.base != at)
        return CUDA_ERROR_INVALID_VALUE;
    if (seen.kind == VF_RANGE_GRAPH)
        return free_graph_block(at, seen.device);
    struct mapping mapping = {0, 0};
    vf_memory_lock();
    r = let_go(at, &mapping);
    vf_memory_unlock();
    if (r)
        return r;
    struct vf_command command = {.kind = VF_MARK, .effect = unmap_effect,
                                 .arg = &mapping, .copy_arg = sizeof mapping};
    return vf_enqueue(stream, twin, &command);
}

VF_EXPORT CUresult cuMemFreeAsync(CUdeviceptr at, CUstream stream)
{
    return free_async("cuMemFreeAsync", at, stream, VF_LEGACY);
}

VF_EXPORT CUresult cuMemFreeAsync_ptsz(CUdeviceptr at, CUstream stream)
{
    return free_async("cuMemFreeAsync_ptsz", at, stream, VF_PER_THREAD);
}
