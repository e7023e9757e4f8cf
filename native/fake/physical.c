/*
 * What the card's memory really is asked for. Like a driver: an allocation
 * of 1 MiB or more gets large pages of 2 MiB of its own; smaller ones share
 * such pages, 512 bytes at least each. The simulated driver knows no
 * fragmentation: the shared pages are as many as the small bytes need.
 */
#include <string.h>
#include <sys/mman.h>

#include "forget.h"
#include "memory.h"

#define OWN_PAGES_BYTES VF_MIB
#define MAX_DEVICES 16

static struct {
    uint64_t bytes, pages_bytes;
} small[MAX_DEVICES];

uint64_t vf_round_up(uint64_t bytes, uint64_t granule)
{
    if (bytes > UINT64_MAX - granule)
        return UINT64_MAX / granule * granule;
    return (bytes + granule - 1) / granule * granule;
}

bool vf_take(CUdevice device, uint64_t bytes)
{
    struct vf_card *card = vf_device_card(device);
    if (bytes == 0 || vf_mem_take(card, bytes))
        return true;
    /* As a driver does: what its own pools hold idle goes first. */
    return vf_pools_trim(device) > 0 && vf_mem_take(card, bytes);
}

void vf_give(CUdevice device, uint64_t bytes)
{
    if (bytes)
        vf_mem_give(vf_device_card(device), bytes);
}

static bool resize_small(CUdevice device, uint64_t bytes)
{
    uint64_t want = vf_round_up(bytes, VF_PAGE_BYTES);
    uint64_t have = small[device].pages_bytes;
    if (want > have && !vf_take(device, want - have))
        return false;
    if (want < have)
        vf_give(device, have - want);
    small[device].pages_bytes = want;
    small[device].bytes = bytes;
    return true;
}

bool vf_take_for(struct vf_range *range)
{
    if (range->size < OWN_PAGES_BYTES) {
        uint64_t bytes = vf_round_up(range->size, VF_ALIGN_BYTES);
        if (!resize_small(range->device, small[range->device].bytes + bytes))
            return false;
        range->small = bytes;
        return true;
    }
    uint64_t bytes = vf_round_up(range->size, VF_PAGE_BYTES);
    if (!vf_take(range->device, bytes))
        return false;
    range->taken = bytes;
    return true;
}

void vf_give_for(struct vf_range *range)
{
    if (range->small)
        resize_small(range->device, small[range->device].bytes - range->small);
    vf_give(range->device, range->taken);
    range->small = range->taken = 0;
}

void *vf_map(uint64_t bytes, uint64_t alignment, int protection)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    const uint64_t slack = alignment > 4096 ? alignment : 0;
    if (bytes > UINT64_MAX / 2 || slack > UINT64_MAX / 4)
        return NULL;
    char *at = mmap(NULL, bytes + slack, protection, flags, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    if (!slack)
        return at;
    uintptr_t start = vf_round_up((uintptr_t)at, alignment);
    uint64_t before = start - (uintptr_t)at, after = slack - before;
    if (before)
        munmap(at, before);
    if (after)
        munmap((void *)(start + bytes), after);
    return (void *)start;
}

void *vf_map_low(uint64_t bytes)
{
#ifdef MAP_32BIT
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_32BIT,
                    -1, 0);
    return at == MAP_FAILED ? NULL : at;
#else
    (void)bytes;
    return NULL;
#endif
}

void vf_unmap(void *address, uint64_t bytes)
{
    munmap(address, bytes);
}

void vf_physical_forget(void)
{
    memset(small, 0, sizeof small);
}
