/* The part of a card that the memory calls own (owner: memory.c). */
#ifndef VXPU_FAKE_MEMORY_STATE_H
#define VXPU_FAKE_MEMORY_STATE_H

#include <stdatomic.h>
#include <stdint.h>

struct vf_memory {
    _Atomic uint64_t reserved[64];
};

#endif
