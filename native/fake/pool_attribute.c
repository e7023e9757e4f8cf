/* What a pool tells of itself, and its access. */
#include <string.h>

#include "pool.h"

/* Bytes of the value that an attribute has, 0: unknown. */
static size_t width_of(CUmemPool_attribute attribute)
{
    switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_MAX_POOL_SIZE:
        return 8;
    default:
        return attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
                       attribute <= CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED
                   ? 4
                   : 0;
    }
}

static uint64_t value_of(const struct CUmemoryPool_st *pool,
                         CUmemPool_attribute attribute)
{
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        return (uint64_t)pool->reuse[attribute - 1];
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        return pool->threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        return pool->reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        return pool->reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        return pool->used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return pool->used_high;
    case CU_MEMPOOL_ATTR_ALLOCATION_TYPE:
        return pool->props.allocType;
    case CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES:
        return pool->props.handleTypes;
    case CU_MEMPOOL_ATTR_LOCATION_ID:
        return (uint64_t)pool->props.location.id;
    case CU_MEMPOOL_ATTR_LOCATION_TYPE:
        return pool->props.location.type;
    case CU_MEMPOOL_ATTR_MAX_POOL_SIZE:
        return pool->props.maxSize;
    default:
        return 0;
    }
}

/* Lock held. */
static CUresult set_value(struct CUmemoryPool_st *pool,
                          CUmemPool_attribute attribute, uint64_t value)
{
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        pool->reuse[attribute - 1] = value != 0;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        pool->threshold = value;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        pool->reserved_high = pool->reserved;
        return value ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        pool->used_high = pool->used;
        return value ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

VF_EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool pool,
                                         CUmemPool_attribute attribute,
                                         void *out)
{
    CUresult r = vf_enter_driver("cuMemPoolGetAttribute");
    size_t width = width_of(attribute);
    if (r)
        return r;
    if (!out || width == 0)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t value = 0;
    vf_memory_lock();
    if (vf_pool_is(pool))
        value = value_of(pool, attribute);
    else
        r = CUDA_ERROR_INVALID_VALUE;
    vf_memory_unlock();
    if (r == CUDA_SUCCESS)
        memcpy(out, &value, width);
    return r;
}

VF_EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool pool,
                                         CUmemPool_attribute attribute,
                                         void *value)
{
    CUresult r = vf_enter_driver("cuMemPoolSetAttribute");
    size_t width = width_of(attribute);
    if (r)
        return r;
    if (!value || width == 0)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t word = 0;
    memcpy(&word, value, width);
    vf_memory_lock();
    r = vf_pool_is(pool) ? set_value(pool, attribute, word)
                         : CUDA_ERROR_INVALID_VALUE;
    vf_memory_unlock();
    return r;
}

static bool known_pool(CUmemoryPool pool)
{
    vf_memory_lock();
    bool known = vf_pool_is(pool);
    vf_memory_unlock();
    return known;
}

/* Every simulated card reaches every pool: access is only checked. */
VF_EXPORT CUresult cuMemPoolSetAccess(CUmemoryPool pool,
                                      const CUmemAccessDesc *map, size_t count)
{
    CUresult r = vf_enter_driver("cuMemPoolSetAccess");
    if (r)
        return r;
    if (!known_pool(pool) || (count && !map))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
            !vf_device_card(map[i].location.id))
            return CUDA_ERROR_INVALID_DEVICE;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags,
                                      CUmemoryPool pool,
                                      CUmemLocation *location)
{
    CUresult r = vf_enter_driver("cuMemPoolGetAccess");
    if (r)
        return r;
    if (!flags || !location || !known_pool(pool))
        return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
}
