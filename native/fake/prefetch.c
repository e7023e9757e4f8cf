/*
 * Moving managed memory in stream order, and asking where it is. The move
 * costs the copy's time on the card; the books change at the call.
 */
#include <string.h>

#include "managed.h"

static CUresult prefetch(const char *call, uint64_t at, uint64_t count,
                         CUmemLocation to, CUstream stream, enum vf_twin twin)
{
    CUcontext context;
    CUresult r = vf_enter(call, &context);
    if (r)
        return r;
    if (vf_stream_captures(stream, twin))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    r = vf_prefetch(at, count, to);
    if (r)
        return r;
    struct vf_card *card = vf_device_card(context->device);
    uint64_t rate = vf_knob(card, copy_bytes_per_second);
    struct vf_command command = {.kind = VF_COPY};
    command.duration_ns =
        (uint64_t)((double)count * 1e9 / (double)(rate ? rate : 1));
    return vf_enqueue(stream, twin, &command);
}

VF_EXPORT CUresult cuMemPrefetchAsync(CUdeviceptr at, size_t count,
                                      CUdevice device, CUstream stream)
{
    return prefetch("cuMemPrefetchAsync", at, count, vf_old_location(device),
                    stream, VF_LEGACY);
}

VF_EXPORT CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr at, size_t count,
                                           CUdevice device, CUstream stream)
{
    return prefetch("cuMemPrefetchAsync_ptsz", at, count,
                    vf_old_location(device), stream, VF_PER_THREAD);
}

VF_EXPORT CUresult cuMemPrefetchAsync_v2(CUdeviceptr at, size_t count,
                                         CUmemLocation to, unsigned flags,
                                         CUstream stream)
{
    return flags ? CUDA_ERROR_INVALID_VALUE
                 : prefetch("cuMemPrefetchAsync_v2", at, count, to, stream,
                            VF_LEGACY);
}

VF_EXPORT CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr at, size_t count,
                                              CUmemLocation to, unsigned flags,
                                              CUstream stream)
{
    return flags ? CUDA_ERROR_INVALID_VALUE
                 : prefetch("cuMemPrefetchAsync_v2_ptsz", at, count, to,
                            stream, VF_PER_THREAD);
}

struct batch {
    CUdeviceptr *at;
    size_t *size, count;
    CUmemLocation *place;
    size_t *first, places; /* place i serves entries from first[i] on */
};

static CUresult prefetch_batch(const char *call, const struct batch *b,
                               CUstream stream, enum vf_twin twin)
{
    if (!b->at || !b->size || !b->place || !b->first || b->count == 0 ||
        b->places == 0 || b->first[0] != 0)
        return CUDA_ERROR_INVALID_VALUE;
    size_t place = 0;
    for (size_t i = 0; i < b->count; i++) {
        while (place + 1 < b->places && b->first[place + 1] <= i)
            place++;
        CUresult r = prefetch(call, b->at[i], b->size[i], b->place[place],
                              stream, twin);
        if (r)
            return r;
    }
    return CUDA_SUCCESS;
}

/* Discarding only lets the contents go; the move is the same. */
#define BATCH(name, twin)                                                    \
    VF_EXPORT CUresult name(CUdeviceptr *at, size_t *size, size_t count,     \
                            CUmemLocation *place, size_t *first,             \
                            size_t places, unsigned long long flags,         \
                            CUstream stream)                                 \
    {                                                                        \
        const struct batch batch = {at, size, count, place, first, places};  \
        return flags ? CUDA_ERROR_INVALID_VALUE                              \
                     : prefetch_batch(#name, &batch, stream, twin);          \
    }
BATCH(cuMemPrefetchBatchAsync, VF_LEGACY)
BATCH(cuMemPrefetchBatchAsync_ptsz, VF_PER_THREAD)
BATCH(cuMemDiscardAndPrefetchBatchAsync, VF_LEGACY)
BATCH(cuMemDiscardAndPrefetchBatchAsync_ptsz, VF_PER_THREAD)

static void answer_location(void *data, const CUmemLocation *location,
                            bool type)
{
    int32_t value = type ? (int32_t)location->type
                    : location->type == CU_MEM_LOCATION_TYPE_DEVICE
                        ? location->id
                    : location->type == CU_MEM_LOCATION_TYPE_INVALID
                        ? CU_DEVICE_INVALID : CU_DEVICE_CPU;
    memcpy(data, &value, sizeof value);
}

static CUresult answer(const struct vf_range *range,
                       CUmem_range_attribute attribute, void *data, size_t size)
{
    int32_t value = range->read_mostly;
    if (size < sizeof value || size % sizeof value)
        return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
        memcpy(data, &value, sizeof value);
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
        answer_location(data, &range->preferred, false);
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
        answer_location(data, &range->prefetched, false);
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
        answer_location(data, &range->preferred, true);
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
        answer_location(data, &range->prefetched, true);
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
        value = range->accessed_by ? range->device : CU_DEVICE_INVALID;
        memset(data, 0xff, size);
        memcpy(data, &value, sizeof value);
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

VF_EXPORT CUresult cuMemRangeGetAttribute(void *data, size_t size,
                                          CUmem_range_attribute attribute,
                                          CUdeviceptr at, size_t count)
{
    struct vf_range range;
    CUresult r = vf_enter_driver("cuMemRangeGetAttribute");
    if (r)
        return r;
    if (!data || count == 0 || !vf_describe(at, &range) ||
        range.kind != VF_RANGE_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    return answer(&range, attribute, data, size);
}

VF_EXPORT CUresult cuMemRangeGetAttributes(void **data, size_t *sizes,
                                           CUmem_range_attribute *attributes,
                                           size_t number, CUdeviceptr at,
                                           size_t count)
{
    if (!data || !sizes || !attributes || number == 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < number; i++) {
        CUresult r = cuMemRangeGetAttribute(data[i], sizes[i], attributes[i],
                                            at, count);
        if (r)
            return r;
    }
    return CUDA_SUCCESS;
}

/* The contents may go; the bytes stay. */
static CUresult discard(const char *call, const CUdeviceptr *at,
                        const size_t *size, size_t count,
                        unsigned long long flags)
{
    CUcontext context;
    struct vf_range range;
    CUresult r = vf_enter(call, &context);
    if (r)
        return r;
    if (!at || !size || count == 0 || flags)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (!vf_describe(at[i], &range) || range.kind != VF_RANGE_MANAGED ||
            size[i] > range.base + range.size - at[i])
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuMemDiscardBatchAsync(CUdeviceptr *at, size_t *size,
                                          size_t count,
                                          unsigned long long flags,
                                          CUstream stream)
{
    (void)stream;
    return discard("cuMemDiscardBatchAsync", at, size, count, flags);
}

VF_EXPORT CUresult cuMemDiscardBatchAsync_ptsz(CUdeviceptr *at, size_t *size,
                                               size_t count,
                                               unsigned long long flags,
                                               CUstream stream)
{
    (void)stream;
    return discard("cuMemDiscardBatchAsync_ptsz", at, size, count, flags);
}
