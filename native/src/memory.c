#include "memory.h"

#include <stdatomic.h>

#include "log.h"

/* Counted only; yet so small that the words of all slots never wrap. */
static const uint64_t NO_QUOTA = UINT64_MAX / VX_MAX_SLOTS / 2;

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

static vx_u64 *word_of(struct vx_slot *s, unsigned device, enum vx_memory kind)
{
    struct vx_slot_device *d = &s->device[device];
    vx_u64 *const words[] = {&d->used_bytes, &d->ctx_bytes, &d->host_bytes,
                             &d->spill_bytes};
    return words[kind];
}

uint64_t vx_mem_sum(const struct vx_region *r, unsigned device,
                    enum vx_memory kind)
{
    uint64_t count = atomic_load(&r->usage->slots_used), sum = 0;
    /* The slice can write rubbish here; it must not lead us out of the map. */
    if (count > VX_MAX_SLOTS)
        count = VX_MAX_SLOTS;
    for (uint64_t i = 0; i < count; i++)
        sum = add_capped(sum, atomic_load(word_of(&r->usage->slot[i], device,
                                                  kind)));
    return sum;
}

uint64_t vx_mem_used(const struct vx_region *r, unsigned device)
{
    return add_capped(vx_mem_sum(r, device, VX_MEMORY_DEVICE),
                      vx_mem_sum(r, device, VX_MEMORY_CONTEXT));
}

/* What all processes together may hold of that kind. */
static uint64_t room_bytes(const struct vx_region *r, unsigned device,
                           enum vx_memory kind)
{
    const struct vx_limits_device *l = &r->limits->device[device];
    uint64_t limit = atomic_load(&l->limit_bytes);
    uint64_t soft = atomic_load(&l->soft_bytes);
    uint64_t overhead = atomic_load(&l->overhead_bytes);
    uint64_t host = atomic_load(&l->host_limit_bytes);
    if (kind == VX_MEMORY_HOST)
        return host ? host : NO_QUOTA;
    if (soft == 0 || soft > limit)
        soft = limit;
    if (kind == VX_MEMORY_SPILL)
        return limit - soft;
    return soft > overhead ? soft - overhead : 0;
}

/* What counts against that room. */
static uint64_t taken_bytes(const struct vx_region *r, unsigned device,
                            enum vx_memory kind)
{
    if (kind == VX_MEMORY_HOST || kind == VX_MEMORY_SPILL)
        return vx_mem_sum(r, device, kind);
    return vx_mem_used(r, device);
}

uint64_t vx_mem_free(const struct vx_region *r, unsigned device)
{
    uint64_t room = room_bytes(r, device, VX_MEMORY_DEVICE);
    uint64_t used = vx_mem_used(r, device);
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

bool vx_mem_try(struct vx_region *r, unsigned device, enum vx_memory kind,
                uint64_t bytes)
{
    uint64_t room = room_bytes(r, device, kind);
    /* Before the add: a huge request must not make others fail meanwhile. */
    if (bytes > room)
        return false;
    vx_u64 *mine = word_of(vx_region_slot(r), device, kind);
    atomic_fetch_add(mine, bytes);
    VX_CRASH("reserve.added");
    uint64_t sum = taken_bytes(r, device, kind);
    if (sum <= room) {
        atomic_fetch_add(&r->held_bytes[device][kind], bytes);
        if (kind == VX_MEMORY_DEVICE || kind == VX_MEMORY_CONTEXT)
            note_peak(r, device, sum);
        VX_CRASH("reserve.done");
        return true;
    }
    VX_CRASH("reserve.over");
    subtract(mine, bytes);
    VX_CRASH("reserve.withdrawn");
    return false;
}

bool vx_mem_retry(struct vx_region *r, unsigned device, enum vx_memory kind,
                  uint64_t bytes, uint64_t now)
{
    bool arbiter = vx_slots_lock_arbiter(r);
    VX_CRASH("reserve.arbiter");
    vx_slots_sweep(r, now);
    VX_CRASH("reserve.swept");
    bool got = vx_mem_try(r, device, kind, bytes);
    if (arbiter)
        vx_slots_unlock_arbiter(r);
    if (!got)
        atomic_fetch_add(&r->usage->device[device].denied_count, 1);
    return got;
}

void vx_mem_refund(struct vx_region *r, unsigned device, enum vx_memory kind,
                   uint64_t bytes)
{
    VX_CRASH("refund.begin");
    subtract(&r->held_bytes[device][kind], bytes);
    subtract(word_of(vx_region_slot(r), device, kind), bytes);
    VX_CRASH("refund.done");
}
