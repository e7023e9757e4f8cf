/*
 * What the memory half of the simulated driver keeps in a process: which
 * addresses are whose, which handles live, and how much of the card each
 * took. One lock guards all of it. It comes before a card's lock: never call
 * anything here while holding vf_lock(card).
 */
#ifndef VXPU_FAKE_MEMORY_H
#define VXPU_FAKE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "context.h"
#include "parts.h"

#define VF_KIB 1024ULL
#define VF_MIB (1024ULL * 1024ULL)
/* A large page of the card; also the granularity of cuMemCreate. */
#define VF_PAGE_BYTES (2 * VF_MIB)
#define VF_ALIGN_BYTES 512ULL /* of a small allocation */
#define VF_PITCH_BYTES 512ULL

enum vf_range_kind {
    VF_RANGE_PLAIN,      /* cuMemAlloc, cuMemAllocPitch */
    VF_RANGE_GLOBAL,     /* a module's variable */
    VF_RANGE_MANAGED,
    VF_RANGE_POOLED,     /* owner: the pool */
    VF_RANGE_MAPPED,     /* a cuMemCreate handle at an address; owner: the chunk */
    VF_RANGE_GRAPH,      /* owner: the graph's block */
    VF_RANGE_IPC,        /* opened from another process; uses: opens */
    VF_RANGE_IMPORTED,   /* a pool's pointer from another process */
    VF_RANGE_EXTERNAL,   /* a mapping of external memory */
    VF_RANGE_HOST,       /* cuMemHostAlloc, cuMemAllocHost */
    VF_RANGE_REGISTERED /* the program's own memory, page-locked */
};

struct vf_range {
    uint64_t base, size; /* as the program asked */
    uint64_t mapped;     /* bytes of address space; 0: not ours to unmap */
    enum vf_range_kind kind;
    CUdevice device;
    CUcontext context; /* NULL: belongs to its owner, not to a context */
    uint64_t id;       /* unique for the life of the process */
    uint64_t taken;    /* bytes of the card, in whole large pages */
    uint64_t small;    /* bytes of the shared page of small allocations */
    uint64_t spilled;  /* managed: what did not fit on the card */
    uint64_t managed;  /* managed: all of it, counted on its device */
    unsigned flags, uses;
    void *owner;
    CUmemLocation preferred, prefetched; /* managed */
    bool read_mostly, accessed_by;       /* managed */
    bool shared; /* can't be moved away by a checkpoint */
};

void vf_memory_lock(void);
void vf_memory_unlock(void);

/* Ranges. The lock must be held, and is still held when they return. */
struct vf_range *vf_range_at(uint64_t address);
/* Only when address is its first byte. */
struct vf_range *vf_range_from(uint64_t base);
/* A copy of `from` with an id of its own; NULL when the host is out of memory. */
struct vf_range *vf_range_add(const struct vf_range *from);
/* Other processes, or the driver's page faults, know its address by now. */
void vf_range_share(struct vf_range *range);
/* Unmaps it, gives its bytes back to the card and forgets it. */
void vf_range_drop(struct vf_range *range);
/* Drops what a context owned. */
void vf_ranges_drop_of(CUcontext context);
/* The open of an IPC handle for that address of process `pid`, or NULL. */
struct vf_range *vf_range_opened(uint64_t base, int pid);
/* Drops what has that owner. */
void vf_ranges_drop_owned(const void *owner);

/* Takes the lock itself: a copy of the range around an address. */
bool vf_describe(uint64_t address, struct vf_range *out);

/* Handles: what kind of object a pointer from a program is. Lock held. */
enum vf_handle {
    VF_HANDLE_CONTEXT = 1, VF_HANDLE_GREEN, VF_HANDLE_POOL, VF_HANDLE_CHUNK,
    VF_HANDLE_ARRAY, VF_HANDLE_MIPMAP, VF_HANDLE_EXTERNAL, VF_HANDLE_RESOURCES
};
bool vf_handle_add(const void *object, enum vf_handle kind);
bool vf_handle_is(const void *object, enum vf_handle kind);
void vf_handle_drop(const void *object);
/* Calls visit for every live handle; visit may drop the one it got. */
void vf_handles_each(enum vf_handle kind, void (*visit)(void *, void *),
                     void *argument);

/* The card's bytes. Lock held. False: the card is full. */
bool vf_take(CUdevice device, uint64_t bytes);
void vf_give(CUdevice device, uint64_t bytes);
/* What an allocation of that size takes: sets taken and small. */
bool vf_take_for(struct vf_range *range);
void vf_give_for(struct vf_range *range);

/* Address space of this process; NULL when it can't be had. */
void *vf_map(uint64_t bytes, uint64_t alignment, int protection);
void *vf_map_low(uint64_t bytes); /* below 4 GiB, for the 32-bit calls */
void vf_unmap(void *address, uint64_t bytes);
uint64_t vf_round_up(uint64_t bytes, uint64_t granule);

/* pool.c: gives unused reserved bytes of all pools of a card back. */
uint64_t vf_pools_trim(CUdevice device);
/* pool.c: what a synchronising call does: trims to the release threshold. */
void vf_pools_synchronised(void);
/* pool.c: a block goes back to its pool; the range is gone. Lock held. */
void vf_pool_free(struct vf_range *range);
/* pool.c: the device's last context is gone, and with it all blocks. */
void vf_pools_empty(CUdevice device);
/* graph_memory.c: the same for what graphs hold and keep. */
void vf_graphs_empty(CUdevice device);

/* ipc.c: one open less. Lock held. */
void vf_ipc_close(struct vf_range *range);
/* managed.c: what of it lies on the host counts no longer. Lock held. */
void vf_managed_leave(struct vf_range *range);
/* graph_memory.c: a block that the program itself frees. Lock held. */
void vf_graph_block_free(struct vf_range *range);

/* array.c: the arrays of a context that goes. Lock held. */
void vf_arrays_drop_of(CUcontext context);

#endif
