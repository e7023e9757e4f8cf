/*
 * Batches that are complete: measured, settled against the budget, and what
 * they teach about costs.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#include "cu_batch.h"
#include "cu_capture.h"
#include "cu_cost.h"
#include "cu_real.h"
#include "log.h"
#include "session.h"

enum { LOOKS = 4, WARY = 8 };
/* Work that measured as nothing still took a launch. */
static const int64_t LEAST_NS = 1000;

static _Atomic uint64_t settled;
static _Atomic int wary;
static atomic_flag reaping = ATOMIC_FLAG_INIT;

bool vx_flight_is_wary(void)
{
    int left = atomic_load(&wary);
    return left > 0 && atomic_compare_exchange_strong(&wary, &left, left - 1);
}

uint64_t vx_flight_settled(void)
{
    return atomic_load(&settled);
}

/*
 * Time between the events, less what was perhaps idle: then never more than
 * can be known, and no less than the credit that was spent.
 */
static int64_t without_gap(const struct vx_batch *b, int64_t elapsed)
{
    if (!b->idle)
        return elapsed;
    int64_t spent = b->end.launches ? b->end.spent_ns : 2 * b->order.granted_ns;
    int64_t rest = elapsed - (int64_t)b->end.gap_ns;
    if (b->end.launches && rest > spent)
        return rest;
    return spent < elapsed ? spent : elapsed;
}

static void teach(const struct vx_batch *b, int64_t elapsed)
{
    if (b->end.launches == 0 || b->idle)
        return;
    if (b->end.pure)
        vx_cost_learn(b->order.key, elapsed / b->end.launches, b->end.launches);
    else if (elapsed > 4 * b->end.spent_ns)
        atomic_store(&wary, WARY);
}

static void settle_locked(struct vx_batch *b)
{
    unsigned device = (unsigned)b->order.device;
    int64_t elapsed = 0;
    if (b->held) /* the host has done its part */
        vx_window_free_locked(b->order.stream);
    int64_t busy = vx_events_settle(&b->events, &elapsed);
    int64_t taken = without_gap(b, elapsed);
    teach(b, elapsed);
    if (busy > taken)
        busy = taken;
    if (elapsed < LEAST_NS && busy < LEAST_NS)
        busy = LEAST_NS;
    vx_batch_count_measured((int)device, busy);
    VX_CRASH("reap.measured");
    vx_session_debit(device, vx_flight_with_gain((int)device, busy) -
                                 b->prepaid_ns);
    VX_CRASH("reap.settled");
    atomic_fetch_add(&settled, 1);
}

/* The next batch at or behind *place whose end was recorded. Under the lock. */
static struct vx_batch *next_closed_locked(unsigned *place)
{
    while (*place < vx_batch_count) {
        struct vx_batch *b = vx_batch_at(*place);
        if (b->state == VX_BATCH_CLOSED)
            return b;
        ++*place;
    }
    return NULL;
}

/* It left the card, whole or with an error. Under the lock. */
static void leave_locked(struct vx_batch *b, CUresult state)
{
    if (state == CUDA_SUCCESS)
        settle_locked(b);
    else /* a broken context never completes: its credit stays charged */
        vx_batch_charge_blind(b);
    if (state != CUDA_SUCCESS)
        vx_events_give(&b->events);
    vx_batch_drop_locked(b);
}

/*
 * By one thread at a time. The driver is asked without the lock; no other
 * thread takes away a closed batch meanwhile.
 */
static void reap_alone(void)
{
    int mode;
    unsigned place = 0;
    vx_capture_relax(&mode);
    for (unsigned waiting = 0; waiting < LOOKS;) {
        pthread_mutex_lock(&vx_batch_lock);
        struct vx_batch *b = next_closed_locked(&place);
        pthread_mutex_unlock(&vx_batch_lock);
        if (!b)
            break;
        CUresult state = vx_cu()->cuEventQuery(b->events.end);
        if (state == CUDA_ERROR_NOT_READY) {
            waiting++;
            place++;
            continue;
        }
        pthread_mutex_lock(&vx_batch_lock);
        leave_locked(b, state);
        pthread_mutex_unlock(&vx_batch_lock);
    }
    vx_capture_restore(&mode);
}

void vx_flight_reap(void)
{
    if (!vx_flight_any() || atomic_flag_test_and_set(&reaping))
        return;
    reap_alone();
    atomic_flag_clear(&reaping);
}

void vx_flight_last_words(void)
{
    /* May run anywhere, so it must not wait for a lock of ours. */
    if (pthread_mutex_trylock(&vx_batch_lock) != 0)
        return;
    pthread_mutex_unlock(&vx_batch_lock);
    vx_flight_reap();
}

void vx_flight_forget_device(int device)
{
    vx_flight_close_all();
    while (atomic_flag_test_and_set(&reaping))
        sched_yield(); /* it asks about events that are about to go */
    reap_alone();
    pthread_mutex_lock(&vx_batch_lock);
    for (unsigned i = 0; i < vx_batch_count;) {
        struct vx_batch *b = vx_batch_at(i);
        /* One in some thread's hands is its own to end. */
        if (b->order.device != device || b->state == VX_BATCH_OPENING ||
            b->state == VX_BATCH_CLOSING) {
            i++;
            continue;
        }
        vx_batch_charge_blind(b);
        vx_events_give(&b->events);
        vx_batch_drop_locked(b);
    }
    vx_events_forget(device);
    pthread_mutex_unlock(&vx_batch_lock);
    atomic_flag_clear(&reaping);
}

void vx_reap_after_fork(void)
{
    atomic_flag_clear(&reaping);
}
