#include "memory.h"

#include <stdatomic.h>

#include "log.h"

uint64_t vx_mem_round(uint64_t bytes)
{
    const uint64_t granule = VX_GRANULE_BYTES;
    if (bytes > UINT64_MAX - granule)
        return UINT64_MAX;
    return (bytes + granule - 1) / granule * granule;
}

static uint64_t add_capped(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t vx_mem_used(const struct vx_region *r, unsigned device)
{
    uint64_t count = atomic_load(&r->usage->slots_used), sum = 0;
    /* The slice can write rubbish here; it must not lead us out of the map. */
    if (count > VX_MAX_SLOTS)
        count = VX_MAX_SLOTS;
    for (uint64_t i = 0; i < count; i++) {
        const struct vx_slot_device *d = &r->usage->slot[i].device[device];
        sum = add_capped(sum, atomic_load(&d->used_bytes));
        sum = add_capped(sum, atomic_load(&d->ctx_bytes));
    }
    return sum;
}

static uint64_t room_bytes(const struct vx_region *r, unsigned device)
{
    const struct vx_limits_device *l = &r->limits->device[device];
    uint64_t limit = atomic_load(&l->limit_bytes);
    uint64_t overhead = atomic_load(&l->overhead_bytes);
    return limit > overhead ? limit - overhead : 0;
}

uint64_t vx_mem_free(const struct vx_region *r, unsigned device)
{
    uint64_t room = room_bytes(r, device), used = vx_mem_used(r, device);
    return room > used ? room - used : 0;
}

/* Never below zero, whatever the slice wrote into its own file. */
static void subtract(vx_u64 *word, uint64_t bytes)
{
    uint64_t seen = atomic_load(word);
    while (!atomic_compare_exchange_weak(word, &seen,
                                         seen > bytes ? seen - bytes : 0))
        ;
}

static void note_peak(struct vx_region *r, unsigned device, uint64_t sum)
{
    vx_u64 *peak = &r->usage->device[device].peak_bytes;
    uint64_t seen = atomic_load(peak);
    while (seen < sum && !atomic_compare_exchange_weak(peak, &seen, sum))
        ;
}

bool vx_mem_try(struct vx_region *r, unsigned device, uint64_t bytes)
{
    uint64_t room = room_bytes(r, device);
    /* Before the add: a huge request must not make others fail meanwhile. */
    if (bytes > room)
        return false;
    vx_u64 *mine = &vx_region_slot(r)->device[device].used_bytes;
    atomic_fetch_add(mine, bytes);
    VX_CRASH("reserve.added");
    uint64_t sum = vx_mem_used(r, device);
    if (sum <= room) {
        atomic_fetch_add(&r->held_bytes[device], bytes);
        note_peak(r, device, sum);
        VX_CRASH("reserve.done");
        return true;
    }
    VX_CRASH("reserve.over");
    subtract(mine, bytes);
    VX_CRASH("reserve.withdrawn");
    return false;
}

bool vx_mem_retry(struct vx_region *r, unsigned device, uint64_t bytes,
                  uint64_t now)
{
    bool arbiter = vx_slots_lock_arbiter(r);
    VX_CRASH("reserve.arbiter");
    vx_slots_sweep(r, now);
    VX_CRASH("reserve.swept");
    bool got = vx_mem_try(r, device, bytes);
    if (arbiter)
        vx_slots_unlock_arbiter(r);
    if (!got)
        atomic_fetch_add(&r->usage->device[device].denied_count, 1);
    return got;
}

void vx_mem_refund(struct vx_region *r, unsigned device, uint64_t bytes)
{
    VX_CRASH("refund.begin");
    subtract(&r->held_bytes[device], bytes);
    subtract(&vx_region_slot(r)->device[device].used_bytes, bytes);
    VX_CRASH("refund.done");
}
