/*
 * What of the batches in flight a launch has to wait for, and what it must
 * not wait for: work that itself waits for the program.
 */
#include <stdatomic.h>

#include "cu_batch.h"
#include "cu_capture.h"
#include "cu_real.h"

enum { STREAMS = 64 };

static CUstream held[STREAMS];
static unsigned held_count;

/* The host has yet to do something before work in this stream can run. */
bool vx_window_holds_locked(CUstream stream)
{
    for (unsigned i = 0; i < held_count; i++)
        if (held[i] == stream)
            return true;
    /* In order behind one that waits for the host. */
    for (unsigned i = 0; i < vx_batch_count; i++)
        if (vx_batch_at(i)->held && vx_batch_at(i)->order.stream == stream)
            return true;
    return false;
}

void vx_window_free_locked(CUstream stream)
{
    for (unsigned i = 0; i < held_count; i++)
        if (held[i] == stream)
            held[i] = held[--held_count];
}

void vx_flight_hold_stream(CUstream stream)
{
    pthread_mutex_lock(&vx_batch_lock);
    if (held_count < STREAMS)
        held[held_count++] = stream;
    pthread_mutex_unlock(&vx_batch_lock);
}

void vx_flight_free_stream(CUstream stream)
{
    pthread_mutex_lock(&vx_batch_lock);
    vx_window_free_locked(stream);
    pthread_mutex_unlock(&vx_batch_lock);
}

static bool counts(const struct vx_batch *b, int device)
{
    return !b->held && !b->stalled && b->order.device == device;
}

/* The oldest is left out: the card has it, and what is to follow may queue. */
int64_t vx_flight_queued_ns(int device)
{
    int64_t sum = 0;
    bool running = false;
    if (!vx_flight_any())
        return 0;
    pthread_mutex_lock(&vx_batch_lock);
    for (unsigned i = 0; i < vx_batch_count; i++) {
        if (!counts(vx_batch_at(i), device))
            continue;
        if (running)
            sum += vx_batch_at(i)->prepaid_ns;
        running = true;
    }
    pthread_mutex_unlock(&vx_batch_lock);
    return sum;
}

bool vx_flight_has_closed(int device)
{
    bool found = false;
    if (!vx_flight_any())
        return false;
    pthread_mutex_lock(&vx_batch_lock);
    for (unsigned i = 0; i < vx_batch_count && !found; i++)
        found = counts(vx_batch_at(i), device) &&
                vx_batch_at(i)->state == VX_BATCH_CLOSED;
    pthread_mutex_unlock(&vx_batch_lock);
    return found;
}

bool vx_flight_has_unknown(uint64_t key)
{
    bool found = false;
    pthread_mutex_lock(&vx_batch_lock);
    for (unsigned i = 0; i < vx_batch_count && !found; i++) {
        const struct vx_batch *b = vx_batch_at(i);
        found = b->order.key == key && !b->order.known && !b->held &&
                !b->stalled;
    }
    pthread_mutex_unlock(&vx_batch_lock);
    return found;
}

static bool has_begun(struct vx_batch *b)
{
    if (b->state == VX_BATCH_OPENING || b->stalled)
        return false;
    if (!b->begun)
        b->begun = vx_cu()->cuEventQuery(b->events.start) == CUDA_SUCCESS;
    /* It was behind the host's turn, and that is over. */
    if (b->begun && b->held) {
        b->held = false;
        vx_window_free_locked(b->order.stream);
    }
    return b->begun;
}

bool vx_flight_runs(int device)
{
    bool runs = false;
    int mode;
    pthread_mutex_lock(&vx_batch_lock);
    vx_capture_relax(&mode);
    for (unsigned i = 0; i < vx_batch_count && !runs; i++)
        runs = vx_batch_at(i)->order.device == device &&
               has_begun(vx_batch_at(i));
    vx_capture_restore(&mode);
    pthread_mutex_unlock(&vx_batch_lock);
    return runs;
}

void vx_flight_hold(int device)
{
    pthread_mutex_lock(&vx_batch_lock);
    for (unsigned i = 0; i < vx_batch_count; i++)
        if (vx_batch_at(i)->order.device == device && !vx_batch_at(i)->begun)
            vx_batch_at(i)->held = true;
    pthread_mutex_unlock(&vx_batch_lock);
}

void vx_flight_stall(int device)
{
    pthread_mutex_lock(&vx_batch_lock);
    for (unsigned i = 0; i < vx_batch_count; i++)
        if (vx_batch_at(i)->order.device == device)
            vx_batch_at(i)->stalled = true;
    pthread_mutex_unlock(&vx_batch_lock);
}

void vx_window_after_fork(void)
{
    held_count = 0;
}
