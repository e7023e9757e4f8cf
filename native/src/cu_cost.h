/*
 * What a kernel or a graph is expected to cost: a mean of measured times.
 * Estimates only decide how much may be launched unseen; the debit is what
 * was measured. Read without a lock on the launch path. No API, no clock.
 */
#ifndef VXPU_CU_COST_H
#define VXPU_CU_COST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { VX_COST_BITS = 11, VX_COST_ENTRIES = 1 << VX_COST_BITS };

/* key 0: unused. ns: measured device time of one, before the gain. */
struct vx_cost {
    _Atomic uint64_t key;
    _Atomic int64_t ns;
    _Atomic uint32_t samples;
};

extern struct vx_cost vx_costs[VX_COST_ENTRIES];

/*
 * A function with about so many threads: within a factor of two the same
 * estimate serves, so that changing shapes are not measured anew each time.
 */
static inline uint64_t vx_cost_key(const void *function, uint64_t blocks,
                                   uint64_t threads)
{
    uint64_t bits = (uint64_t)(128 - __builtin_clzll(blocks | 1) -
                               __builtin_clzll(threads | 1));
    return (uint64_t)(uintptr_t)function ^ bits << 56;
}

static inline const struct vx_cost *vx_cost_at(uint64_t key)
{
    return &vx_costs[key * 0x9e3779b97f4a7c15ULL >> (64 - VX_COST_BITS)];
}

/* Expected ns and how often it was measured: 0 when never. */
unsigned vx_cost_get(uint64_t key, int64_t *ns);
/* `ns` is the mean of `count` that ran together. */
void vx_cost_learn(uint64_t key, int64_t ns, unsigned count);
/* It became another thing: measure anew. */
void vx_cost_forget(uint64_t key);
void vx_cost_after_fork(void);

#endif
