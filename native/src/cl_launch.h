/*
 * The gate that device work passes, and the meter behind it.
 *
 * Debited so far = CPU time measured + what is prepaid for work in flight.
 * A launch prepays its estimate; measured time is taken from the prepaid sum
 * first and from the budget when that is used up; what is still prepaid once
 * nothing is in flight goes back.
 */
#ifndef VXPU_CL_LAUNCH_H
#define VXPU_CL_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "cl_abi.h"

struct vx_cl_ticket {
    uint64_t key;
    /*
     * Only every so many of a run of tiny launches is watched, for all of
     * them; the others need no event.
     */
    bool wants_event;
    unsigned launches;   /* this one and the unwatched before it */
    int64_t estimate_ns; /* of all these */
    bool held;           /* depends on something the host has yet to do */
};

/* Waits as the share demands. False: the lease is gone, do not launch. */
bool vx_cl_launch_begin(uint64_t key, cl_command_queue queue, cl_uint waits,
                     const cl_event *list, struct vx_cl_ticket *t);
/*
 * After the real call. event: its event, ours to keep when `owned`, else the
 * program's and retained here; NULL when the call failed.
 */
void vx_cl_launch_end(struct vx_cl_ticket *t, cl_command_queue queue,
                   cl_event event, bool owned, bool failed);
/* Measures and reaps; at every synchronising call. Never waits. */
void vx_cl_launch_settle(void);
/* At exit: debits what was not measured yet. Safe at any time. */
void vx_cl_launch_last_words(void);
void vx_cl_launch_after_fork(void);

/* cl_flight.c: commands in flight. */

struct vx_cl_flight {
    uint64_t key;
    unsigned launches;
    int64_t estimate_ns;
    cl_event event;
    cl_command_queue queue; /* kept alive by the event */
    uint64_t born_ns;
    bool running;
    bool watched; /* our completion callback is set */
    bool held;    /* depends on the host: not counted until it runs */
    bool stalled; /* ran too long to be waited for: not counted any more */
};

/* False when held commands fill the table: then it is metered, not tracked. */
bool vx_cl_flight_add(const struct vx_cl_ticket *t, cl_command_queue queue,
                   cl_event event);
/* Expected ns of all that is in flight, not held and not stalled. */
int64_t vx_cl_flight_expected_ns(void);
bool vx_cl_flight_has(uint64_t key);
/*
 * True when the oldest of these was launched more than ns ago, or there is no
 * place for another: work is queued, whatever the estimates say.
 */
bool vx_cl_flight_is_behind(uint64_t now, uint64_t ns);
/*
 * Drops what is complete and teaches the estimates: *cpu_ns is the time used
 * since the last call that dropped something, and becomes 0 if one did.
 */
void vx_cl_flight_reap(int64_t *cpu_ns);
/* Waits up to ns for a running command. False: none is running. */
bool vx_cl_flight_wait(uint64_t ns);
void vx_cl_flight_flush(void);
/*
 * True when a launch with this wait list can't run before the host acts: it
 * waits for a user event, or for a command (or a queue) that is held itself.
 */
bool vx_cl_flight_is_held(cl_command_queue queue, cl_uint waits,
                       const cl_event *list);
/* Stop counting what is in flight now, until it runs or for good. */
void vx_cl_flight_hold(void);
void vx_cl_flight_stall(void);
void vx_cl_flight_after_fork(void);

#endif
