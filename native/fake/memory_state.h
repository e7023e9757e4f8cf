/* The part of a card that the memory calls own (owner: managed.c). */
#ifndef VXPU_FAKE_MEMORY_STATE_H
#define VXPU_FAKE_MEMORY_STATE_H

#include <stdatomic.h>
#include <stdint.h>

/* Managed bytes that have no room on the card, by process (card.h's index). */
struct vf_memory {
    _Atomic uint64_t spilled[256];
};

#endif
