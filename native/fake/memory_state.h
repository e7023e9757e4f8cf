/* The part of a card that the memory calls own (owner: managed.c). */
#ifndef VXPU_FAKE_MEMORY_STATE_H
#define VXPU_FAKE_MEMORY_STATE_H

#include <stdatomic.h>
#include <stdint.h>

/* By process (card.h's index). */
struct vf_memory {
    _Atomic uint64_t spilled[256]; /* managed bytes without room on the card */
    _Atomic uint64_t managed[256]; /* all managed bytes that belong there */
    _Atomic uint64_t pager; /* 1 + who had the card last of those with some */
    _Atomic uint64_t paging_ns; /* device time till another of them may */
};

#endif
