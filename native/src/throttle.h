/*
 * A time-debt bucket shared by all processes of a slice. Knows no API and
 * reads no clock: `now` is passed in. The budget may go negative; that debt
 * is paid by waiting before the next launch.
 */
#ifndef VXPU_THROTTLE_H
#define VXPU_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "vxpu/abi.h"

#define VX_BURST_NS 20000000ULL /* unused share is kept for 20 ms at most */
/* Of the time of a hold its end is earned all the same: see agent/turns.py. */
#define VX_HOLD_EARNS_NS 12000000ULL
#define VX_GATE_CLOSED UINT64_MAX

struct vx_bucket {
    const struct vx_limits_device *limits;
    struct vx_usage_device *usage;
};

/* Adds what time and the agent brought; returns the budget. */
int64_t vx_bucket_refill(const struct vx_bucket *b, uint64_t now);
/* Takes ns (or gives it back when negative). */
void vx_bucket_debit(const struct vx_bucket *b, int64_t ns);
/* 0: go; else ns until the budget turns positive, or VX_GATE_CLOSED. */
uint64_t vx_bucket_wait_ns(const struct vx_bucket *b, int64_t budget,
                           uint64_t now);
/* ns until the hold ends that `now` lies in; 0: there is none. */
uint64_t vx_bucket_held_ns(const struct vx_bucket *b, uint64_t now);
/* Device nanoseconds earned in ns of wall time at the rate of `now`. */
int64_t vx_bucket_earned(const struct vx_bucket *b, uint64_t ns, uint64_t now);

/*
 * The same for bytes copied over the bus: true when the slice has a share of
 * it. A copy of any size may start while the budget is positive; its debt is
 * paid before the next one.
 */
bool vx_copy_is_limited(const struct vx_bucket *b);
int64_t vx_copy_refill(const struct vx_bucket *b, uint64_t now);
void vx_copy_debit(const struct vx_bucket *b, uint64_t bytes);
uint64_t vx_copy_wait_ns(const struct vx_bucket *b, int64_t budget);

#endif
