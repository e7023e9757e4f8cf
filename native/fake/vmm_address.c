/* Reserved addresses, and chunks mapped at them. */
#include <stdlib.h>
#include <sys/mman.h>

#include "forget.h"
#include "vmm.h"

struct reservation {
    uint64_t base, size;
    struct reservation *next;
};
static struct reservation *reservations;

static struct reservation **find(uint64_t at, uint64_t size)
{
    struct reservation **r = &reservations;
    while (*r && !(at >= (*r)->base && at - (*r)->base < (*r)->size &&
                   size <= (*r)->size - (at - (*r)->base)))
        r = &(*r)->next;
    return r;
}

VF_EXPORT CUresult cuMemAddressReserve(CUdeviceptr *out, size_t size,
                                       size_t alignment, CUdeviceptr wish,
                                       unsigned long long flags)
{
    CUresult r = vf_enter_driver("cuMemAddressReserve");
    (void)wish; /* a wish only: we place it ourselves */
    if (r)
        return r;
    if (!out || size == 0 || size % VF_PAGE_BYTES || flags ||
        (alignment & (alignment - 1)))
        return CUDA_ERROR_INVALID_VALUE;
    struct reservation *new = malloc(sizeof *new);
    void *at = new ? vf_map(size, alignment > VF_PAGE_BYTES ? alignment
                                                            : VF_PAGE_BYTES,
                            PROT_NONE)
                   : NULL;
    if (!at) {
        free(new);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    vf_memory_lock();
    *new = (struct reservation){(uintptr_t)at, size, reservations};
    reservations = new;
    vf_memory_unlock();
    *out = new->base;
    return CUDA_SUCCESS;
}

/* Lock held. */
static bool any_mapped(uint64_t at, uint64_t size)
{
    for (uint64_t page = at; page < at + size; page += VF_PAGE_BYTES)
        if (vf_range_at(page))
            return true;
    return false;
}

VF_EXPORT CUresult cuMemAddressFree(CUdeviceptr at, size_t size)
{
    CUresult r = vf_enter_driver("cuMemAddressFree");
    if (r)
        return r;
    vf_memory_lock();
    struct reservation **found = size ? find(at, size) : NULL;
    struct reservation *gone = found ? *found : NULL;
    if (!gone || gone->base != at || gone->size != size ||
        any_mapped(at, size)) {
        r = CUDA_ERROR_INVALID_VALUE;
    } else {
        *found = gone->next;
        vf_unmap((void *)(uintptr_t)at, size);
        free(gone);
    }
    vf_memory_unlock();
    return r;
}

/* Lock held. */
static CUresult map_chunk(uint64_t at, uint64_t size, struct vf_chunk *chunk)
{
    struct vf_range range = {.base = at, .size = size, .owner = chunk,
                             .kind = VF_RANGE_MAPPED};
    range.device = chunk->device < 0 ? 0 : chunk->device;
    /* No access until cuMemSetAccess, as on a card. */
    void *got = mmap((void *)(uintptr_t)at, size, PROT_NONE,
                     MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                     vf_chunk_file(chunk), (off_t)chunk->at);
    if (got == MAP_FAILED || !vf_range_add(&range))
        return CUDA_ERROR_OPERATING_SYSTEM;
    chunk->uses++;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuMemMap(CUdeviceptr at, size_t size, size_t offset,
                            CUmemGenericAllocationHandle handle,
                            unsigned long long flags)
{
    CUresult r = vf_enter_driver("cuMemMap");
    if (r)
        return r;
    if (flags || offset || size == 0 || size % VF_PAGE_BYTES ||
        at % VF_PAGE_BYTES)
        return CUDA_ERROR_INVALID_VALUE;
    vf_memory_lock();
    struct vf_chunk *chunk = vf_chunk_of(handle);
    if (!chunk || size > chunk->size || !*find(at, size) ||
        any_mapped(at, size))
        r = CUDA_ERROR_INVALID_VALUE;
    else
        r = map_chunk(at, size, chunk);
    vf_memory_unlock();
    return r;
}

/* Lock held: [at, at + size) is mappings, whole ones if so asked. */
static bool all_mapped(uint64_t at, uint64_t size, bool whole)
{
    uint64_t end = at + size;
    while (at < end) {
        struct vf_range *range = vf_range_at(at);
        if (!range || range->kind != VF_RANGE_MAPPED ||
            (whole && (range->base != at || range->base + range->size > end)))
            return false;
        at = range->base + range->size;
    }
    return size > 0;
}

VF_EXPORT CUresult cuMemUnmap(CUdeviceptr at, size_t size)
{
    CUresult r = vf_enter_driver("cuMemUnmap");
    if (r)
        return r;
    vf_memory_lock();
    bool fits = all_mapped(at, size, true);
    for (uint64_t next = at; fits && next < at + size;) {
        struct vf_range *range = vf_range_from(next);
        struct vf_chunk *chunk = range->owner;
        next += range->size;
        mmap((void *)(uintptr_t)range->base, range->size, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        vf_range_drop(range);
        chunk->uses--;
        vf_chunk_settle(chunk);
    }
    vf_memory_unlock();
    return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static int protection(CUmemAccess_flags flags)
{
    switch (flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
        return PROT_READ | PROT_WRITE;
    case CU_MEM_ACCESS_FLAGS_PROT_READ:
        return PROT_READ;
    default:
        return PROT_NONE;
    }
}

static CUresult check(const CUmemAccessDesc *desc, size_t count)
{
    if (!desc || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        if (desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
            desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
            desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return CUDA_ERROR_INVALID_VALUE;
        if (desc[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
            !vf_device_card(desc[i].location.id))
            return CUDA_ERROR_INVALID_DEVICE;
    }
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuMemSetAccess(CUdeviceptr at, size_t size,
                                  const CUmemAccessDesc *desc, size_t count)
{
    unsigned flags = 0;
    CUresult r = vf_enter_driver("cuMemSetAccess");
    if (r == CUDA_SUCCESS)
        r = check(desc, count);
    if (r)
        return r;
    /* One address space for all cards: the widest access asked for wins. */
    for (size_t i = 0; i < count; i++)
        flags |= (unsigned)desc[i].flags;
    vf_memory_lock();
    bool fits = all_mapped(at, size, false);
    for (uint64_t next = at; fits && next < at + size;) {
        struct vf_range *range = vf_range_at(next);
        range->flags = flags;
        next = range->base + range->size;
    }
    if (fits)
        mprotect((void *)(uintptr_t)at, size,
                 protection((CUmemAccess_flags)flags));
    vf_memory_unlock();
    return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

VF_EXPORT CUresult cuMemGetAccess(unsigned long long *flags,
                                  const CUmemLocation *location,
                                  CUdeviceptr at)
{
    struct vf_range range;
    CUresult r = vf_enter_driver("cuMemGetAccess");
    if (r)
        return r;
    if (!flags || !location || !vf_describe(at, &range) ||
        range.kind != VF_RANGE_MAPPED)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = range.flags;
    return CUDA_SUCCESS;
}

void vf_addresses_forget(void)
{
    reservations = NULL;
}
