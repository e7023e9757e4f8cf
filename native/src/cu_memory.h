/* What the memory wrappers of the CUDA front end share. */
#ifndef VXPU_CU_MEMORY_H
#define VXPU_CU_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "charges.h"
#include "cu_real.h"

/* ---- cu_device.c: which device of the region ---------------------------- */

#define VX_DEVICE_FOREIGN (-1) /* a card that is not of this slice */
#define VX_DEVICE_NONE (-2)    /* no such device, no current context */
#define VX_DEVICE_HOST (-3)    /* not on a card at all: never charged */

/* Region index of a CUdevice, by the UUID of the physical card. */
int vx_cu_region_device(CUdevice dev);
/* Of the calling thread's current context. */
int vx_cu_current_device(void);
/* Of a context; of a stream (default streams: the current context's). */
int vx_cu_context_device(CUcontext ctx);
int vx_cu_stream_device(CUstream stream);
/* Of a place where memory is to be. */
int vx_cu_location_device(const CUmemLocation *location);
/* The CUdevice behind a region index, or -1. */
CUdevice vx_cu_device_of(int region_device);

/* ---- cu_memory.c: reserve, call, bind ------------------------------------ */

/*
 * Reserves for `device`. CUDA_SUCCESS with *c NULL: hand the call on as it
 * is (whole device, or nonsense that the driver shall refuse itself). A host
 * place gives an entry of no bytes. Else the error to answer; on a would-be
 * OUT_OF_MEMORY our pools were trimmed once.
 */
CUresult vx_cu_reserve(int device, enum vx_memory kind, uint64_t bytes,
                       struct vx_charge **c);
/* Bytes as the driver takes them for one allocation. */
uint64_t vx_cu_round(uint64_t bytes);
/* As above with the grown part of a charge that is in no map yet. */
bool vx_cu_grow(struct vx_charge *c, uint64_t bytes);
/* Binds the charge to the new object, or drops it; gives `err` back. */
CUresult vx_cu_settle(struct vx_charge *c, CUresult err, enum vx_space space,
                      uint64_t key);
/* Another's memory that came to us: known, not charged; gives `err` back. */
CUresult vx_cu_note_known(CUresult err, enum vx_space space, uint64_t key);
/* False in a whole-device slice, and where the region is not usable. */
bool vx_cu_limits(void);
/* Before a free: the entry, taken out. NULL: unknown, or nothing to do. */
struct vx_charge *vx_cu_take(enum vx_space space, uint64_t key);
/* Behind it: drops the entry, or puts it back when the driver refused. */
CUresult vx_cu_freed(struct vx_charge *c, CUresult err, enum vx_space space,
                     uint64_t key);

/* ---- cu_spill.c: managed memory beyond the guaranteed part ---------------- */

/* vx_charge.note of a device pointer */
#define VX_NOTE_MANAGED 1 /* ours, though the program asked for plain memory */
#define VX_NOTE_GRAPH 2   /* of a graph that keeps the charge itself */

/* The slice bought more than is guaranteed on the device. */
bool vx_cu_spill_bought(int device);
/* Plain memory that spilled; OUT_OF_MEMORY when that part is full as well. */
CUresult vx_cu_spill_alloc(int device, CUdeviceptr *out, size_t bytes);

/* ---- cu_pool.c ------------------------------------------------------------- */

/* Gives back what our pools of a device hold unused; true when any came. */
bool vx_cu_pools_trim(int device);
/* A device's last context ended: charges go as far as the pools are empty. */
void vx_cu_pools_context_gone(int device);
/* A charge of a pool was freed: what of it the pool keeps stays charged. */
void vx_cu_pool_free(struct vx_charge *c);

/* ---- cu_context.c ------------------------------------------------------------ */

/* Owner id for what is allocated now on a device: dies with the context. */
uint64_t vx_cu_owner(int device);

/* ---- cu_vmm.c ------------------------------------------------------------------ */

/* The backing of whatever is mapped around an address, or NULL. */
struct vx_charge *vx_cu_backing_at(CUdeviceptr at);

/* ---- cu_graph_memory.c ----------------------------------------------------------- */

/* The program makes graph memory nodes: from now on graphs are looked at. */
void vx_cu_graph_memory_expect(void);
/* Call behind each successful cuGraphLaunch. */
void vx_cu_graph_launched(CUgraphExec exec);

void vx_cu_contexts_after_fork(void);
void vx_cu_memory_after_fork(void);

#endif
