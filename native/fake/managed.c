/*
 * Managed memory. It moves between the card and the host; here it takes what
 * the card has room for when it is allocated or prefetched to the card, and
 * the rest counts as spilled: it never fails because the card is full.
 */
#include <sys/mman.h>

#include "managed.h"

#define ATTACH_FLAGS (CU_MEM_ATTACH_GLOBAL | CU_MEM_ATTACH_HOST)

static void count(struct vf_range *range, uint64_t managed, uint64_t spilled)
{
    struct vf_card *card = vf_device_card(range->device);
    int self = vf_self_index(card);
    if (self >= 0) {
        atomic_fetch_add(&card->memory.spilled[self],
                         spilled - range->spilled);
        atomic_fetch_add(&card->memory.managed[self],
                         managed - range->managed);
    }
    range->spilled = spilled;
    range->managed = managed;
}

void vf_managed_leave(struct vf_range *range)
{
    count(range, 0, 0);
}

/* Lock held: as many large pages on the card as it has room for. */
static void settle_on_card(struct vf_range *range, CUdevice device)
{
    uint64_t whole = vf_round_up(range->size, VF_PAGE_BYTES);
    struct vf_card *card = vf_device_card(device);
    int self = vf_self(card) ? vf_self_index(card) : -1;
    uint64_t used = vf_visible_used(card, self);
    uint64_t total = vf_visible_bytes(card, self);
    uint64_t room = total > used ? total - used : 0;
    uint64_t want = whole < room ? whole : room / VF_PAGE_BYTES * VF_PAGE_BYTES;
    vf_give_for(range);
    count(range, 0, 0);
    range->device = device;
    while (want > 0 && !vf_take(device, want))
        want = want / 2 / VF_PAGE_BYTES * VF_PAGE_BYTES;
    range->taken = want;
    count(range, whole, whole - want);
}

static void settle_on_host(struct vf_range *range)
{
    uint64_t whole = vf_round_up(range->size, VF_PAGE_BYTES);
    vf_give_for(range);
    count(range, whole, whole);
}

VF_EXPORT CUresult cuMemAllocManaged(CUdeviceptr *out, size_t size,
                                     unsigned flags)
{
    struct vf_range range = {.size = size, .flags = flags,
                             .kind = VF_RANGE_MANAGED};
    CUresult r = vf_enter_owner("cuMemAllocManaged", &range.context);
    if (r)
        return r;
    if (!out || size == 0 || flags == 0 || (flags & ~(unsigned)ATTACH_FLAGS) ||
        flags == ATTACH_FLAGS)
        return CUDA_ERROR_INVALID_VALUE;
    r = vf_capture_forbids();
    if (r)
        return r;
    range.device = range.context->device;
    range.mapped = vf_round_up(size, 4096);
    vf_memory_lock();
    void *at = vf_map(range.mapped, VF_PAGE_BYTES, PROT_READ | PROT_WRITE);
    range.base = (uintptr_t)at;
    struct vf_range *added = at ? vf_range_add(&range) : NULL;
    if (added)
        settle_on_card(added, range.device);
    else if (at)
        vf_unmap(at, range.mapped);
    vf_memory_unlock();
    if (!added)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = range.base;
    return CUDA_SUCCESS;
}

bool vf_location_valid(const CUmemLocation *location)
{
    switch (location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return vf_device_card(location->id) != NULL;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        return true;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        return location->id >= 0;
    default:
        return false;
    }
}

/* Lock held: the managed range that [at, at + count) lies in. */
static struct vf_range *managed_at(uint64_t at, uint64_t count)
{
    struct vf_range *range = vf_range_at(at);
    if (!range || range->kind != VF_RANGE_MANAGED || count == 0 ||
        count > range->base + range->size - at)
        return NULL;
    return range;
}

/* The whole allocation moves, whatever part of it was asked for. */
CUresult vf_prefetch(uint64_t at, uint64_t count, CUmemLocation to)
{
    if (!vf_location_valid(&to))
        return CUDA_ERROR_INVALID_DEVICE;
    vf_memory_lock();
    struct vf_range *range = managed_at(at, count);
    if (range) {
        range->prefetched = to;
        if (to.type == CU_MEM_LOCATION_TYPE_DEVICE)
            settle_on_card(range, to.id);
        else
            settle_on_host(range);
    }
    vf_memory_unlock();
    return range ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Lock held. */
static CUresult apply(struct vf_range *range, CUmem_advise advice,
                      CUmemLocation location)
{
    switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        range->read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
        return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        if (!vf_location_valid(&location))
            return CUDA_ERROR_INVALID_DEVICE;
        range->preferred = location;
        if (location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            settle_on_host(range);
        return CUDA_SUCCESS;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        range->preferred = (CUmemLocation){0};
        return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
        if (!vf_location_valid(&location))
            return CUDA_ERROR_INVALID_DEVICE;
        range->accessed_by = advice == CU_MEM_ADVISE_SET_ACCESSED_BY;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult advise(const char *call, uint64_t at, uint64_t count,
                       CUmem_advise advice, CUmemLocation location)
{
    CUcontext context;
    CUresult r = vf_enter(call, &context);
    if (r)
        return r;
    vf_memory_lock();
    struct vf_range *range = managed_at(at, count);
    r = range ? apply(range, advice, location) : CUDA_ERROR_INVALID_VALUE;
    vf_memory_unlock();
    return r;
}

CUmemLocation vf_old_location(CUdevice device)
{
    CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
    location.id = device;
    if (device == CU_DEVICE_CPU)
        location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST};
    return location;
}

VF_EXPORT CUresult cuMemAdvise(CUdeviceptr at, size_t count,
                               CUmem_advise advice, CUdevice device)
{
    return advise("cuMemAdvise", at, count, advice, vf_old_location(device));
}

VF_EXPORT CUresult cuMemAdvise_v2(CUdeviceptr at, size_t count,
                                  CUmem_advise advice, CUmemLocation location)
{
    return advise("cuMemAdvise_v2", at, count, advice, location);
}
