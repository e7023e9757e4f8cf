/*
 * A full card: whoever has managed memory and gets the card after another
 * one of those brings back what that one displaced, as much as all processes
 * keep beyond the card, and at most all of its own. It is not displaced again
 * before it was through and had a turn on it; who has no managed memory goes
 * on in between. What a process alone has no room for costs it nothing here.
 */
#include "paging.h"

#include "card.h"

static uint64_t beyond_card(struct vf_card *card)
{
    uint64_t kept = atomic_load(&card->memory_used);
    for (int i = 0; i < VF_PROCESSES; i++)
        kept += atomic_load(&card->memory.spilled[i]);
    uint64_t room = card->identity.memory_bytes;
    return kept > room ? kept - room : 0;
}

uint64_t vf_paging_ns(struct vf_card *card, int index)
{
    uint64_t own = atomic_load(&card->memory.managed[index]);
    uint64_t self = (uint64_t)index + 1;
    if (own == 0)
        return 0;
    uint64_t before = atomic_exchange(&card->memory.pager, self);
    if (before == 0 || before == self)
        return 0;
    uint64_t missing = beyond_card(card);
    uint64_t rate = vf_knob(card, migrate_bytes_per_second);
    if (missing > own)
        missing = own;
    uint64_t ns =
        (uint64_t)((double)missing * 1e9 / (double)(rate ? rate : 1));
    /* And a turn on what was brought: else nobody would ever compute. */
    atomic_store(&card->memory.paging_ns,
                 ns ? ns + vf_knob(card, quantum_ns) : 0);
    return ns;
}

void vf_paging_done(struct vf_card *card, uint32_t index, uint64_t ns)
{
    uint64_t left = atomic_load(&card->memory.paging_ns);
    if (left && atomic_load(&card->memory.pager) == index + 1)
        atomic_store(&card->memory.paging_ns, left > ns ? left - ns : 0);
}

bool vf_paging_waits(struct vf_card *card, uint32_t index)
{
    return atomic_load(&card->memory.paging_ns) != 0 &&
           atomic_load(&card->memory.managed[index]) != 0 &&
           atomic_load(&card->memory.pager) != index + 1;
}
