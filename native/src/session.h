/*
 * What this process has: one region, opened at the first OpenCL call, closed
 * by nothing. Everything here is thread-safe and survives fork.
 */
#ifndef VXPU_SESSION_H
#define VXPU_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "region.h"
#include "throttle.h"

/* Makes the session at need. False: no usable region, so fail closed. */
bool vx_session_open(void);
/* Whole-device slice: leave everything as it is. */
bool vx_session_inert(void);
/* The lease is gone: no new memory, no new launches. */
bool vx_session_closed(void);
/* Changes in every fork's child; tells inherited charges from own ones. */
uint32_t vx_session_life(void);
/* True in the process that opened the session, false in a vfork's child. */
bool vx_session_owner(void);

const struct vx_limits_device *vx_session_limits(void);
struct vx_bucket vx_session_bucket(void);
/* Own slot and device counters of a launch that goes ahead. */
void vx_session_count_launch(uint64_t waited_ns);
void vx_session_debit(int64_t ns);
/* Reserve with the slow path; bytes already rounded. */
bool vx_session_reserve(uint64_t bytes);
void vx_session_refund(uint64_t bytes);
uint64_t vx_session_free_bytes(void);
void vx_session_count_unknown_free(void);

#endif
