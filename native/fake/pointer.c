/* cuPointerGetAttribute(s): what a program may ask of an address. */
#include <string.h>

#include "memory.h"

static bool is_host(const struct vf_range *range)
{
    return range->kind == VF_RANGE_HOST || range->kind == VF_RANGE_REGISTERED;
}

/* An answer of any size: filled here, copied by the caller. */
struct answer {
    uint64_t word;
    unsigned size;
};

static struct answer whole(uint64_t value)
{
    return (struct answer){value, 8};
}

static struct answer flag(bool value)
{
    return (struct answer){value, 1};
}

static struct answer number(uint64_t value)
{
    return (struct answer){value & 0xffffffff, 4};
}

static uint64_t pool_of(const struct vf_range *range)
{
    bool pooled = range->kind == VF_RANGE_POOLED ||
                  range->kind == VF_RANGE_IMPORTED;
    return pooled ? (uintptr_t)range->owner : 0;
}

static uint64_t handle_types(const struct vf_range *range)
{
    return range->kind == VF_RANGE_MAPPED
               ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
               : CU_MEM_HANDLE_TYPE_NONE;
}

/* Where it lies and what it belongs to. */
static struct answer of_place(CUpointer_attribute attribute,
                              const struct vf_range *range)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return whole(range->id);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        return whole(range->base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        return whole(range->size);
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return whole((uintptr_t)range->context);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return number((uint64_t)range->device);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return whole(pool_of(range));
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return whole(handle_types(range));
    default:
        return (struct answer){0, 0};
    }
}

/* What may be done with it. .size 0: the attribute has no answer here. */
static struct answer of_range(CUpointer_attribute attribute,
                              const struct vf_range *range, uint64_t at)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return number(is_host(range) ? CU_MEMORYTYPE_HOST
                                     : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return whole(at);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return is_host(range) || range->kind == VF_RANGE_MANAGED
                   ? whole(at)
                   : (struct answer){0, 0};
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return flag(range->kind == VF_RANGE_MANAGED);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        return flag(range->kind == VF_RANGE_PLAIN);
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return flag(true);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        return flag(false);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return number(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    default:
        return of_place(attribute, range);
    }
}

/* What cuPointerGetAttributes says of an address that is not ours. */
static struct answer of_unknown(CUpointer_attribute attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return number(0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return number((uint64_t)CU_DEVICE_INVALID);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        return flag(false);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return number(0);
    default:
        return whole(0);
    }
}

VF_EXPORT CUresult cuPointerGetAttribute(void *data,
                                         CUpointer_attribute attribute,
                                         CUdeviceptr at)
{
    struct vf_range range;
    CUresult r = vf_enter_driver("cuPointerGetAttribute");
    if (r)
        return r;
    if (!data || !vf_describe(at, &range))
        return CUDA_ERROR_INVALID_VALUE;
    struct answer answer = of_range(attribute, &range, at);
    if (answer.size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(data, &answer.word, answer.size);
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuPointerGetAttributes(unsigned count,
                                          CUpointer_attribute *attributes,
                                          void **data, CUdeviceptr at)
{
    struct vf_range range;
    CUresult r = vf_enter_driver("cuPointerGetAttributes");
    if (r)
        return r;
    if (count == 0 || !attributes || !data)
        return CUDA_ERROR_INVALID_VALUE;
    bool known = vf_describe(at, &range);
    for (unsigned i = 0; i < count; i++) {
        struct answer answer = known ? of_range(attributes[i], &range, at)
                                     : of_unknown(attributes[i]);
        if (answer.size == 0)
            answer = of_unknown(attributes[i]);
        if (!data[i])
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(data[i], &answer.word, answer.size);
    }
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuPointerSetAttribute(const void *value,
                                         CUpointer_attribute attribute,
                                         CUdeviceptr at)
{
    struct vf_range range;
    CUresult r = vf_enter_driver("cuPointerSetAttribute");
    if (r)
        return r;
    bool fits = value && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS &&
                vf_describe(at, &range);
    return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
