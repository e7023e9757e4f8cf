/* Plain device memory: cuMemAlloc and what frees and describes it. */
#include "memory.h"

#include <sys/mman.h>

enum width { WIDE, NARROW }; /* 64-bit addresses, or those of the old calls */

/* Lock held. Address space and the card's bytes, or neither. */
static CUresult place(struct vf_range *range, enum width width)
{
    uint64_t bytes = vf_round_up(range->size, 4096);
    if (!vf_take_for(range))
        return CUDA_ERROR_OUT_OF_MEMORY;
    void *at = width == NARROW ? vf_map_low(bytes)
               : vf_map(bytes, range->taken ? VF_PAGE_BYTES : 4096,
                        PROT_READ | PROT_WRITE);
    range->base = (uintptr_t)at;
    range->mapped = bytes;
    if (at && vf_range_add(range))
        return CUDA_SUCCESS;
    if (at)
        vf_unmap(at, bytes);
    vf_give_for(range);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult allocate(const char *call, uint64_t *out, uint64_t size,
                         enum width width)
{
    struct vf_range range = {.size = size, .kind = VF_RANGE_PLAIN};
    CUresult r = vf_enter_owner(call, &range.context);
    if (r)
        return r;
    if (size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    r = vf_capture_forbids();
    if (r)
        return r;
    range.device = range.context->device;
    vf_memory_lock();
    r = place(&range, width);
    vf_memory_unlock();
    if (r == CUDA_SUCCESS)
        *out = range.base;
    return r;
}

VF_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t size)
{
    uint64_t at = 0;
    CUresult r = out ? allocate("cuMemAlloc_v2", &at, size, WIDE)
                     : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *out = at;
    return r;
}

VF_EXPORT CUresult cuMemAlloc(CUdeviceptr_v1 *out, unsigned size)
{
    uint64_t at = 0;
    CUresult r = out ? allocate("cuMemAlloc", &at, size, NARROW)
                     : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *out = (CUdeviceptr_v1)at;
    return r;
}

static CUresult allocate_rows(const char *call, uint64_t *out, size_t *pitch,
                              size_t width, size_t height, unsigned element,
                              enum width kind)
{
    /* 4, 8 or 16: what a kernel reads and writes at once. */
    if (element != 4 && element != 8 && element != 16)
        return CUDA_ERROR_INVALID_VALUE;
    size_t row = vf_round_up(width, VF_PITCH_BYTES);
    if (width == 0 || height == 0 || row > UINT64_MAX / 2 / height)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = allocate(call, out, row * height, kind);
    if (r == CUDA_SUCCESS)
        *pitch = row;
    return r;
}

VF_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch,
                                      size_t width, size_t height,
                                      unsigned element)
{
    uint64_t at = 0;
    if (!out || !pitch)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = allocate_rows("cuMemAllocPitch_v2", &at, pitch, width, height,
                               element, WIDE);
    if (r == CUDA_SUCCESS)
        *out = at;
    return r;
}

VF_EXPORT CUresult cuMemAllocPitch(CUdeviceptr_v1 *out, unsigned *pitch,
                                   unsigned width, unsigned height,
                                   unsigned element)
{
    uint64_t at = 0;
    size_t row = 0;
    if (!out || !pitch)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = allocate_rows("cuMemAllocPitch", &at, &row, width, height,
                               element, NARROW);
    if (r == CUDA_SUCCESS) {
        *out = (CUdeviceptr_v1)at;
        *pitch = (unsigned)row;
    }
    return r;
}

/* Lock held: what cuMemFree takes, by kind. */
static CUresult release(struct vf_range *range)
{
    switch (range->kind) {
    case VF_RANGE_PLAIN:
    case VF_RANGE_MANAGED:
    case VF_RANGE_EXTERNAL:
    case VF_RANGE_IMPORTED:
        vf_range_drop(range);
        return CUDA_SUCCESS;
    case VF_RANGE_IPC: /* as good as cuIpcCloseMemHandle */
        vf_ipc_close(range);
        return CUDA_SUCCESS;
    case VF_RANGE_POOLED:
        vf_pool_free(range);
        return CUDA_SUCCESS;
    case VF_RANGE_GRAPH:
        vf_graph_block_free(range);
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult free_memory(const char *call, uint64_t at)
{
    CUcontext context;
    struct vf_range seen;
    CUresult r = vf_enter(call, &context);
    if (r || at == 0)
        return r;
    r = vf_capture_forbids();
    if (r)
        return r;
    if (!vf_describe(at, &seen) || seen.base != at)
        return CUDA_ERROR_INVALID_VALUE;
    /* Work that uses it may still run: a free waits, as the driver's does. */
    vf_card_wait(vf_device_card(seen.device));
    vf_memory_lock();
    struct vf_range *range = vf_range_from(at);
    r = range ? release(range) : CUDA_ERROR_INVALID_VALUE;
    vf_memory_unlock();
    return r;
}

VF_EXPORT CUresult cuMemFree_v2(CUdeviceptr at)
{
    return free_memory("cuMemFree_v2", at);
}

VF_EXPORT CUresult cuMemFree(CUdeviceptr_v1 at)
{
    return free_memory("cuMemFree", at);
}

static CUresult address_range(const char *call, uint64_t at, uint64_t *base,
                              uint64_t *size)
{
    CUcontext context;
    struct vf_range range;
    CUresult r = vf_enter(call, &context);
    if (r)
        return r;
    if (!vf_describe(at, &range))
        return CUDA_ERROR_NOT_FOUND;
    *base = range.base;
    *size = range.size;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size,
                                           CUdeviceptr at)
{
    uint64_t first, bytes;
    CUresult r = address_range("cuMemGetAddressRange_v2", at, &first, &bytes);
    if (r)
        return r;
    if (base)
        *base = first;
    if (size)
        *size = bytes;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuMemGetAddressRange(CUdeviceptr_v1 *base, unsigned *size,
                                        CUdeviceptr_v1 at)
{
    uint64_t first, bytes;
    CUresult r = address_range("cuMemGetAddressRange", at, &first, &bytes);
    if (r)
        return r;
    if (base)
        *base = (CUdeviceptr_v1)first;
    if (size)
        *size = (unsigned)bytes;
    return CUDA_SUCCESS;
}

static CUresult info(const char *call, uint64_t *unused, uint64_t *total)
{
    CUcontext context;
    CUresult r = vf_enter(call, &context);
    if (r)
        return r;
    struct vf_card *card = vf_device_card(context->device);
    vf_reap(card);
    int index = vf_self_index(card);
    uint64_t used = vf_visible_used(card, index);
    *total = vf_visible_bytes(card, index);
    *unused = used < *total ? *total - used : 0;
    return CUDA_SUCCESS;
}

/* The reference lists INVALID_VALUE: either output missing is that. */
VF_EXPORT CUresult cuMemGetInfo_v2(size_t *unused, size_t *total)
{
    uint64_t left, all;
    CUresult r = info("cuMemGetInfo_v2", &left, &all);
    if (r)
        return r;
    if (!unused || !total)
        return CUDA_ERROR_INVALID_VALUE;
    *unused = left;
    *total = all;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuMemGetInfo(unsigned *unused, unsigned *total)
{
    uint64_t left, all;
    CUresult r = info("cuMemGetInfo", &left, &all);
    if (r)
        return r;
    if (!unused || !total)
        return CUDA_ERROR_INVALID_VALUE;
    *unused = left > UINT32_MAX ? UINT32_MAX : (unsigned)left;
    *total = all > UINT32_MAX ? UINT32_MAX : (unsigned)all;
    return CUDA_SUCCESS;
}

/* Mappings side by side are one piece of memory to a copy. */
bool vf_is_device_range(CUdeviceptr at, size_t bytes)
{
    struct vf_range range;
    uint64_t next = at, end = at + bytes;
    do {
        if (!vf_describe(next, &range) || range.kind == VF_RANGE_HOST ||
            range.kind == VF_RANGE_REGISTERED)
            return false;
        next = range.base + range.size;
    } while (next < end && range.kind == VF_RANGE_MAPPED);
    return next >= end;
}
