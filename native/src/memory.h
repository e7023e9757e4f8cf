/*
 * Memory accounting: add, then sum. Knows no API and reads no clock.
 * Every process adds to its own slot only, so there is no shared total that
 * could drift; two processes that race can both be refused, never both pass.
 */
#ifndef VXPU_MEMORY_H
#define VXPU_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "region.h"

/* What memory is charged as; each has its own word in the slot. */
enum vx_memory {
    VX_MEMORY_DEVICE,  /* on the device: the guaranteed part */
    VX_MEMORY_CONTEXT, /* context, code, stacks: in the guaranteed part too */
    VX_MEMORY_HOST,    /* page-locked host memory */
    VX_MEMORY_SPILL    /* managed memory beyond the guaranteed part */
};

/* Requested bytes in whole granules; UINT64_MAX when that overflows. */
uint64_t vx_mem_round(uint64_t bytes);
/* Quick attempt without any lock. True when reserved. */
bool vx_mem_try(struct vx_region *r, unsigned device, enum vx_memory kind,
                uint64_t bytes);
/* Slow path: arbiter, one sweep, one retry. Caller serialises threads. */
bool vx_mem_retry(struct vx_region *r, unsigned device, enum vx_memory kind,
                  uint64_t bytes, uint64_t now);
void vx_mem_refund(struct vx_region *r, unsigned device, enum vx_memory kind,
                   uint64_t bytes);
/* The view, of device memory: never an error, 0 when shrunk below use. */
uint64_t vx_mem_used(const struct vx_region *r, unsigned device);
uint64_t vx_mem_free(const struct vx_region *r, unsigned device);
/* Bytes charged as `kind` by all processes. */
uint64_t vx_mem_sum(const struct vx_region *r, unsigned device,
                    enum vx_memory kind);

#endif
