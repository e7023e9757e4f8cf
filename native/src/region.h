/*
 * The slice's region as one process sees it: two mappings, a lock file and a
 * slot of its own. Not thread-safe by itself; session.c holds its lock around
 * everything here except reads of the mapped words.
 */
#ifndef VXPU_REGION_H
#define VXPU_REGION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "vxpu/abi.h"

struct vx_region {
    const struct vx_limits *limits; /* read-only mapping */
    struct vx_usage *usage;
    int lock_fd;
    dev_t lock_dev;
    ino_t lock_ino;
    _Atomic int slot; /* -1: not registered */
    vx_u64 epoch;     /* of our slot when we claimed it */
    vx_u64 held_bytes[VX_MAX_DEVICES][4]; /* reserved here, by vx_memory */
    char path[128];
};

/* Maps the files after checking them. Returns 0 or a negative errno. */
int vx_region_open(struct vx_region *r);
/* Opens the lock file again, by path, and checks it. 0 or negative errno. */
int vx_region_open_lock(struct vx_region *r);

/* slots.c */

/* Takes a slot and moves what this process holds into it. 0 or -EAGAIN. */
int vx_slots_register(struct vx_region *r, uint64_t now);
/* Returns the memory of dead processes; true when any came back. */
bool vx_slots_sweep(struct vx_region *r, uint64_t now);
/* True when our slot is still ours and our lock still held; else repairs. */
bool vx_slots_keep(struct vx_region *r, uint64_t now);
/* In a fork's child: lets go of the parent's lock and slot. */
void vx_slots_after_fork(struct vx_region *r);
/* Near-limit arbiter between processes: bounded wait, false when not won. */
bool vx_slots_lock_arbiter(struct vx_region *r);
void vx_slots_unlock_arbiter(struct vx_region *r);

static inline struct vx_slot *vx_region_slot(struct vx_region *r)
{
    /* -1 only in a fork's child, and that registers before anything else. */
    int slot = r->slot;
    return &r->usage->slot[slot < 0 ? 0 : slot];
}

#endif
