/*
 * What the pools of this process hold. Memory is charged at the allocating
 * call and refunded at the freeing one, except what the pool keeps for later:
 * a pool with a release threshold holds on to freed memory, so that part
 * stays charged as the pool's (idle) and pays for its next allocations.
 */
#ifndef VXPU_CU_POOL_H
#define VXPU_CU_POOL_H

#include "cu_memory.h"

struct vx_pool;

/* Learnt at its first use; NULL: not a pool, or nobody can say where. */
struct vx_pool *vx_pool_of(CUmemoryPool handle);
/* Region index, or one of VX_DEVICE_*. */
int vx_pool_device(const struct vx_pool *p);
/* Made to be shared, so it must stay real device memory. */
bool vx_pool_exportable(const struct vx_pool *p);
/* Reserves what the pool has not idle; *idle is what it had. NULL: no room. */
struct vx_charge *vx_pool_reserve(struct vx_pool *p, uint64_t bytes,
                                  uint64_t *idle);
/* The driver refused after all. */
void vx_pool_undo(struct vx_charge *c, uint64_t idle);
void vx_cu_pools_after_fork(void);

#endif
