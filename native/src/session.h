/*
 * What this process has: one region, opened at the first call, closed
 * by nothing. Everything here is thread-safe and survives fork.
 */
#ifndef VXPU_SESSION_H
#define VXPU_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "memory.h"
#include "region.h"
#include "throttle.h"

enum vx_mode {
    VX_REFUSE, /* no region: fail closed, the slice has no device */
    VX_LIMIT,
    VX_PASS /* whole device bought: change nothing */
};

/* How this process's calls are treated; makes the session at need. */
enum vx_mode vx_session_mode(void);
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

/*
 * `device` is an index into the region. OpenCL shows a slice one device, so
 * its wrappers say 0; CUDA finds the index by the card's UUID.
 */
unsigned vx_session_device_count(void);
/* Region index of the card with these 16 bytes; -1: not of this slice. */
int vx_session_device_of(const unsigned char uuid[16]);
const struct vx_limits_device *vx_session_limits(unsigned device);
struct vx_bucket vx_session_bucket(unsigned device);
/* Own slot and device counters of `count` launches that go ahead. */
void vx_session_count_launches(unsigned device, uint64_t count,
                               uint64_t waited_ns);
void vx_session_debit(unsigned device, int64_t ns);
/* Reserve with the slow path; bytes already rounded. */
bool vx_session_reserve(unsigned device, enum vx_memory kind, uint64_t bytes);
void vx_session_refund(unsigned device, enum vx_memory kind, uint64_t bytes);
uint64_t vx_session_free_bytes(unsigned device);
uint64_t vx_session_used_bytes(unsigned device);
/* What all processes of the slice have charged as `kind`. */
uint64_t vx_session_sum_bytes(unsigned device, enum vx_memory kind);
/* A living process of the slice with that pid in our pid namespace. */
bool vx_session_has_pid(uint64_t pid);
void vx_session_count_unknown_free(void);
void vx_session_count_unknown_symbol(void);
/* Variants of known calls that we do not wrap are withheld. */
bool vx_session_strict_symbols(void);

#endif
