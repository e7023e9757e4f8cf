/*
 * What a kernel is expected to cost, by (kernel, work size). Estimates only
 * bound what is in flight; the debit is what the meter measured. Knows no
 * API and reads no clock. Thread-safe.
 */
#ifndef VXPU_ESTIMATE_H
#define VXPU_ESTIMATE_H

#include <stdint.h>

#define VX_UNMEASURED_NS 1000000 /* taken on trust for an unknown kernel */

/* Mixes one more word into a key. Start with any word. */
uint64_t vx_estimate_mix(uint64_t key, uint64_t word);
/* Expected device ns, and how often it was measured (0: a guess). */
unsigned vx_estimate_get(uint64_t key, int64_t *ns);
void vx_estimate_learn(uint64_t key, int64_t measured_ns);
void vx_estimate_after_fork(void);

#endif
