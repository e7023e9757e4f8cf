/* The batches in flight, shared by cu_flight.c and cu_window.c. */
#ifndef VXPU_CU_BATCH_H
#define VXPU_CU_BATCH_H

#include <pthread.h>

#include "cu_events.h"
#include "cu_flight.h"

enum { VX_BATCHES = 256 };

enum vx_batch_state {
    VX_BATCH_UNUSED,
    VX_BATCH_OPENING,
    VX_BATCH_OPEN,
    VX_BATCH_CLOSING,
    VX_BATCH_CLOSED
};

struct vx_batch {
    enum vx_batch_state state;
    struct vx_batch_order order;
    struct vx_event_pair events;
    struct vx_batch_end end;
    uint64_t serial;
    int64_t prepaid_ns;
    pthread_t owner;
    bool idle; /* at its end the stream had nothing to do */
    bool begun, held, stalled;
};

/* All under the lock. The line has those in use, oldest first. */
extern pthread_mutex_t vx_batch_lock;
extern unsigned vx_batch_count;
struct vx_batch *vx_batch_at(unsigned place);

void vx_batch_drop_locked(struct vx_batch *b);
/* Without a measurement: what was spent of its credit is what it took. */
void vx_batch_charge_blind(const struct vx_batch *b);
void vx_batch_count_measured(int device, int64_t ns);

/* cu_reap.c */
void vx_reap_after_fork(void);

/* cu_window.c; under the lock. */
bool vx_window_holds_locked(CUstream stream);
void vx_window_free_locked(CUstream stream);
void vx_window_after_fork(void);

#endif
