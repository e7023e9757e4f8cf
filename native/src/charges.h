/*
 * What this process has charged, by object: (space, key) -> charge. Sharded,
 * thread-safe, empty in a fork's child. No lock is held across a driver call:
 * an entry is taken out before its object is freed (the address may be
 * another thread's as soon as it is free) and put back if that fails.
 */
#ifndef VXPU_CHARGES_H
#define VXPU_CHARGES_H

#include <stdbool.h>
#include <stdint.h>

#include "memory.h"

/* Keys of one space never meet those of another. */
enum vx_space {
    VX_SPACE_SVM,     /* OpenCL shared virtual memory, by address */
    VX_SPACE_MEMORY,  /* device pointers */
    VX_SPACE_HOST,    /* page-locked host pointers */
    VX_SPACE_ARRAY,   /* arrays and mipmapped arrays, by handle */
    VX_SPACE_HANDLE,  /* handles of cuMemCreate and of multicast objects */
    VX_SPACE_MAPPING, /* what a handle is mapped at, by start address */
    VX_SPACE_CONTEXT, /* contexts that the program created */
    VX_SPACE_LIMIT,   /* growth by cuCtxSetLimit, by owner and limit */
    VX_SPACE_GRAPH    /* executable graphs with memory nodes */
};

struct vx_charge {
    uint64_t bytes; /* 0: known, but not ours to charge */
    int device;     /* index in the region, of the allocation itself */
    enum vx_memory kind;
    uint32_t life;  /* a fork's child must not refund its parent's */
    _Atomic uint32_t refs;
    uint64_t owner; /* the context it dies with; 0: with none */
    uint64_t note;  /* its space's own */
    void *extra;    /* its space's own; freed with it */
    struct vx_pool *pool;      /* that it came from, or NULL */
    struct vx_charge *backing; /* counted; what a handle or mapping is of */
    struct vx_charge *holds;   /* further backings that it keeps alive */
    /* The map's own. */
    enum vx_space space;
    uint64_t key;
    struct vx_charge *next;
};

/* Reserves `bytes` as they are; NULL: no room. */
struct vx_charge *vx_charge_make(int device, enum vx_memory kind,
                                 uint64_t bytes);
/* An entry for what is another's memory; NULL when the host is out of it. */
struct vx_charge *vx_charge_known(void);
/* Raises a charge that is in no map yet; false: no room. */
bool vx_charge_grow(struct vx_charge *c, uint64_t bytes);
/* Gives a part back. */
void vx_charge_shrink(struct vx_charge *c, uint64_t bytes);
/* One reference less; the last one refunds and frees. NULL is fine. */
void vx_charge_drop(struct vx_charge *c);

void vx_charge_bind(struct vx_charge *c, enum vx_space space, uint64_t key);
/* Out of the map, whatever its references; NULL: unknown. */
struct vx_charge *vx_charge_take(enum vx_space space, uint64_t key);
/* One reference more on a bound entry; false: unknown. */
bool vx_charge_retain(enum vx_space space, uint64_t key);
/* True when known; *last is the entry, taken out, if that was the last. */
bool vx_charge_release(enum vx_space space, uint64_t key,
                       struct vx_charge **last);
/* The backing of a bound entry with a reference for the caller, or NULL. */
struct vx_charge *vx_charge_backing(enum vx_space space, uint64_t key);
/* Lets a bound entry keep `backing` alive, once; takes the reference. */
bool vx_charge_hold(enum vx_space space, uint64_t key,
                    struct vx_charge *backing);
/* A copy of the plain fields of a bound entry; false: unknown. */
bool vx_charge_look(enum vx_space space, uint64_t key, struct vx_charge *copy);
/* Calls `match` on each entry of a space until it says true, under locks. */
bool vx_charge_find(enum vx_space space,
                    bool (*match)(struct vx_charge *, void *), void *arg);
/* Refunds what `match` picks of a space; it is asked under locks. */
void vx_charge_drop_matching(enum vx_space space,
                             bool (*match)(struct vx_charge *, void *),
                             void *arg);
/* Refunds all that a dead context took along. */
void vx_charge_drop_owned(uint64_t owner);
void vx_charges_after_fork(void);

#endif
