/*
 * Timing events of our own, pooled by context, and the union of what they
 * measure: of two batches that ran side by side the common time is one time.
 * The caller holds the lock of cu_flight.c around every call.
 */
#ifndef VXPU_CU_EVENTS_H
#define VXPU_CU_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "vxpu/cuda_abi.h"

struct vx_event_pair {
    CUevent start, end;
    CUcontext context; /* that they belong to */
    int home;          /* its place in our table, unless it was forgotten */
};

/* A pair in the calling thread's current context. False: none to be had. */
bool vx_events_take(int device, struct vx_event_pair *pair);
/* Back to the pool, measured or not. */
void vx_events_give(struct vx_event_pair *pair);
/*
 * Both are complete: *elapsed is the time between them; returns what of it
 * no earlier pair had covered. The pair is given back.
 */
int64_t vx_events_settle(struct vx_event_pair *pair, int64_t *elapsed);
/* Their context is the thread's current one. */
bool vx_events_are_current(const struct vx_event_pair *pair);
/* Destroys all events of the device's contexts; none may be in use. */
void vx_events_forget(int device);
void vx_events_after_fork(void);

#endif
