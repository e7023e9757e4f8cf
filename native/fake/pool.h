/* Memory pools: what pool.c and pool_share.c share. */
#ifndef VXPU_FAKE_POOL_H
#define VXPU_FAKE_POOL_H

#include "memory.h"

struct CUmemoryPool_st {
    CUmemPoolProps props;
    CUdevice device;
    bool on_card;   /* else of host memory: takes nothing of a card */
    bool standard;  /* the default pool of a place: never destroyed */
    bool imported;  /* of another process: no allocation from it */
    bool destroyed; /* goes with its last block */
    uint64_t reserved, reserved_high; /* bytes of the card */
    uint64_t used, used_high, blocks;
    uint64_t threshold;
    int32_t reuse[3]; /* the attributes 1..3 */
};

/* Lock held. */
CUmemoryPool vf_pool_new(const CUmemPoolProps *props);
bool vf_pool_is(CUmemoryPool pool);
/* Unused reserved bytes above `keep` go back to the card. */
uint64_t vf_pool_trim(CUmemoryPool pool, uint64_t keep);
/* The default pool of a location, NULL for one that has none. */
CUmemoryPool vf_pool_default(const CUmemLocation *location);
/* The pool that cuMemAllocAsync takes on that device. */
CUmemoryPool vf_pool_current(CUdevice device);
void vf_pool_gone(CUmemoryPool pool); /* the last block of a destroyed one */

#endif
