/*
 * Page-locked host memory. It takes nothing of the card, and its address is
 * the same for host and device.
 */
#include <sys/mman.h>

#include "memory.h"

#define ALLOC_FLAGS 0x7U    /* portable, device map, write combined */
#define REGISTER_FLAGS 0xfU /* portable, device map, io memory, read only */

static CUresult allocate(const char *call, void **out, uint64_t size,
                         unsigned flags)
{
    struct vf_range range = {.size = size, .flags = flags,
                             .kind = VF_RANGE_HOST};
    CUresult r = vf_enter_owner(call, &range.context);
    if (r)
        return r;
    if (!out || size == 0 || (flags & ~ALLOC_FLAGS))
        return CUDA_ERROR_INVALID_VALUE;
    r = vf_capture_forbids();
    if (r)
        return r;
    range.device = range.context->device;
    range.mapped = vf_round_up(size, 4096);
    vf_memory_lock();
    void *at = vf_map(range.mapped, 4096, PROT_READ | PROT_WRITE);
    range.base = (uintptr_t)at;
    bool added = at && vf_range_add(&range);
    if (at && !added)
        vf_unmap(at, range.mapped);
    vf_memory_unlock();
    if (!added)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = at;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuMemHostAlloc(void **out, size_t size, unsigned flags)
{
    return allocate("cuMemHostAlloc", out, size, flags);
}

VF_EXPORT CUresult cuMemAllocHost_v2(void **out, size_t size)
{
    return allocate("cuMemAllocHost_v2", out, size, 0);
}

VF_EXPORT CUresult cuMemAllocHost(void **out, unsigned size)
{
    return allocate("cuMemAllocHost", out, size, 0);
}

/* A range of `kind` at its first byte, and nothing that still uses it. */
static CUresult drop(const char *call, void *at, enum vf_range_kind kind,
                     CUresult unknown)
{
    CUcontext context;
    struct vf_range seen;
    CUresult r = vf_enter(call, &context);
    if (r)
        return r;
    if (!at)
        return CUDA_ERROR_INVALID_VALUE;
    if (!vf_describe((uintptr_t)at, &seen) || seen.kind != kind ||
        seen.base != (uintptr_t)at)
        return unknown;
    vf_card_wait(vf_device_card(seen.device));
    vf_memory_lock();
    struct vf_range *range = vf_range_from((uintptr_t)at);
    if (range && range->kind == kind)
        vf_range_drop(range);
    vf_memory_unlock();
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuMemFreeHost(void *at)
{
    return drop("cuMemFreeHost", at, VF_RANGE_HOST, CUDA_ERROR_INVALID_VALUE);
}

static CUresult enlist(const char *call, void *at, uint64_t size,
                       unsigned flags)
{
    struct vf_range range = {.base = (uintptr_t)at, .size = size,
                             .flags = flags, .kind = VF_RANGE_REGISTERED};
    CUresult r = vf_enter_owner(call, &range.context);
    if (r)
        return r;
    if (!at || size == 0 || (flags & ~REGISTER_FLAGS) ||
        range.base + size < range.base)
        return CUDA_ERROR_INVALID_VALUE;
    range.device = range.context->device;
    vf_memory_lock();
    struct vf_range *known = vf_range_at(range.base);
    if (!known)
        known = vf_range_at(range.base + size - 1);
    if (known)
        r = known->kind == VF_RANGE_REGISTERED
                ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                : CUDA_ERROR_INVALID_VALUE;
    else if (!vf_range_add(&range))
        r = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    vf_memory_unlock();
    return r;
}

VF_EXPORT CUresult cuMemHostRegister(void *at, unsigned size, unsigned flags)
{
    return enlist("cuMemHostRegister", at, size, flags);
}

VF_EXPORT CUresult cuMemHostRegister_v2(void *at, size_t size, unsigned flags)
{
    return enlist("cuMemHostRegister_v2", at, size, flags);
}

VF_EXPORT CUresult cuMemHostUnregister(void *at)
{
    return drop("cuMemHostUnregister", at, VF_RANGE_REGISTERED,
                CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

static CUresult find(const char *call, const void *at, struct vf_range *range)
{
    CUcontext context;
    CUresult r = vf_enter(call, &context);
    if (r)
        return r;
    if (!vf_describe((uintptr_t)at, range) ||
        (range->kind != VF_RANGE_HOST && range->kind != VF_RANGE_REGISTERED))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *at,
                                                unsigned flags)
{
    struct vf_range range;
    CUresult r = find("cuMemHostGetDevicePointer_v2", at, &range);
    if (r)
        return r;
    if (!out || flags)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (uintptr_t)at;
    return CUDA_SUCCESS;
}

/* Our addresses never fit the old call's 32 bits. */
VF_EXPORT CUresult cuMemHostGetDevicePointer(CUdeviceptr_v1 *out, void *at,
                                             unsigned flags)
{
    struct vf_range range;
    CUresult r = find("cuMemHostGetDevicePointer", at, &range);
    if (r)
        return r;
    if (!out || flags || (uintptr_t)at > UINT32_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUdeviceptr_v1)(uintptr_t)at;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuMemHostGetFlags(unsigned *flags, void *at)
{
    struct vf_range range;
    CUresult r = find("cuMemHostGetFlags", at, &range);
    if (r)
        return r;
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = range.flags;
    return CUDA_SUCCESS;
}
