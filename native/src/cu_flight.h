/*
 * Batches of launches in flight. A batch is what one thread launched into one
 * stream on one credit, between a pair of events; the time between them is
 * what it took. A credit is a piece of the budget, debited when the batch is
 * opened and settled against the measured time when it is reaped.
 *
 * No call here waits. No event is recorded with the lock held: a recording
 * may block in a full queue.
 */
#ifndef VXPU_CU_FLIGHT_H
#define VXPU_CU_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "vxpu/cuda_abi.h"

struct vx_batch;

struct vx_batch_order {
    int device; /* region index */
    CUstream stream;
    uint64_t key;
    int64_t granted_ns; /* the credit, as device time measures */
    bool known;         /* the key was measured before */
};

/*
 * How a batch ended. A gap between its last launch and this moment may have
 * been idle time of the stream: then `gap_ns` of it is not taken at its word.
 */
struct vx_batch_end {
    unsigned launches;  /* 0: another thread's, not known */
    bool pure;          /* all of the key that it was opened with */
    int64_t spent_ns;   /* of the credit */
    uint64_t gap_ns;
};

/* NULL: no place or no events; then the credit is all that is charged. */
struct vx_batch *vx_flight_open(const struct vx_batch_order *order,
                                uint64_t *serial);
/* Does nothing when it is no more the same batch, or is closed already. */
void vx_flight_close(struct vx_batch *b, uint64_t serial,
                     const struct vx_batch_end *end);
/* Without an end: what it took will not be known, its credit stays charged. */
void vx_flight_abandon(struct vx_batch *b, uint64_t serial);
/*
 * Closes every open batch that this thread can: before it synchronises, and
 * before work in between that is not the slice's own time.
 */
void vx_flight_close_all(void);
bool vx_flight_any(void);
bool vx_flight_any_open(void);
/* Settles what is complete: the budget, the meter, the costs. */
void vx_flight_reap(void);
/* The same without waiting for a lock of ours; for the way out. */
void vx_flight_last_words(void);

/* Debited for what is queued behind a running batch and counts. */
int64_t vx_flight_queued_ns(int device);
/* Any that was closed is not done yet, as far as it may be waited for. */
bool vx_flight_has_closed(int device);
/* A launch of a function never measured is in flight and counts. */
bool vx_flight_has_unknown(uint64_t key);
/* Something that counts is running on the card now. */
bool vx_flight_runs(int device);
/* One more at each batch that was settled: tells progress. */
uint64_t vx_flight_settled(void);
/*
 * Do not count what has not begun (it depends on the host), until it begins;
 * or what runs for too long to be waited for.
 */
void vx_flight_hold(int device);
void vx_flight_stall(int device);
/* What follows in this stream waits for the host. */
void vx_flight_hold_stream(CUstream stream);
void vx_flight_free_stream(CUstream stream);

/* A context of the device is about to go, and every event with it. */
void vx_flight_forget_device(int device);
void vx_flight_after_fork(void);

/* True while work of the same kind has been surprising: look closely. */
bool vx_flight_is_wary(void);
/* Debit for so much device time at the gain that the agent published. */
int64_t vx_flight_with_gain(int device, int64_t ns);
/* The device time that such a debit stands for. */
int64_t vx_flight_without_gain(int device, int64_t ns);

#endif
