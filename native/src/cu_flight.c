#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "cu_batch.h"
#include "cu_capture.h"
#include "cu_real.h"
#include "log.h"
#include "session.h"

pthread_mutex_t vx_batch_lock = PTHREAD_MUTEX_INITIALIZER;
unsigned vx_batch_count;
static struct vx_batch batches[VX_BATCHES];
/* Indexes in the order of opening, oldest first. */
static uint16_t line[VX_BATCHES];
static unsigned open_count;
static _Atomic unsigned any, any_open;
static uint64_t serials;

struct vx_batch *vx_batch_at(unsigned place)
{
    return &batches[line[place]];
}

static int64_t gain_ppm(int device)
{
    uint64_t gain = atomic_load(&vx_session_limits((unsigned)device)->gain_ppm);
    return gain < 100000 || gain > 1500000 ? 1000000 : (int64_t)gain;
}

int64_t vx_flight_with_gain(int device, int64_t ns)
{
    return (int64_t)((__int128)ns * gain_ppm(device) / 1000000);
}

int64_t vx_flight_without_gain(int device, int64_t ns)
{
    return (int64_t)((__int128)ns * 1000000 / gain_ppm(device));
}

void vx_batch_count_measured(int device, int64_t ns)
{
    struct vx_bucket bucket = vx_session_bucket((unsigned)device);
    atomic_fetch_add(&bucket.usage->measured_ns, (uint64_t)ns);
}

static void publish_counts(void)
{
    atomic_store(&any, vx_batch_count);
    atomic_store(&any_open, open_count);
}

bool vx_flight_any(void)
{
    return atomic_load_explicit(&any, memory_order_relaxed) != 0;
}

bool vx_flight_any_open(void)
{
    return atomic_load_explicit(&any_open, memory_order_relaxed) != 0;
}

static struct vx_batch *take_locked(const struct vx_batch_order *order,
                                    int64_t prepaid_ns)
{
    if (vx_batch_count == VX_BATCHES)
        return NULL;
    unsigned at = 0;
    while (batches[at].state != VX_BATCH_UNUSED)
        at++;
    struct vx_batch *b = &batches[at];
    *b = (struct vx_batch){.state = VX_BATCH_OPENING, .order = *order,
                           .serial = ++serials, .owner = pthread_self(),
                           .prepaid_ns = prepaid_ns,
                           .held = vx_window_holds_locked(order->stream)};
    line[vx_batch_count++] = (uint16_t)at;
    open_count++;
    publish_counts();
    return b;
}

void vx_batch_drop_locked(struct vx_batch *b)
{
    unsigned place = 0;
    while (vx_batch_at(place) != b)
        place++;
    if (b->state != VX_BATCH_CLOSED)
        open_count--;
    b->state = VX_BATCH_UNUSED;
    for (unsigned i = place + 1; i < vx_batch_count; i++)
        line[i - 1] = line[i];
    vx_batch_count--;
    publish_counts();
}

/* A place and a pair of events; NULL: one of them is not to be had. */
static struct vx_batch *prepare(const struct vx_batch_order *order,
                                int64_t prepaid_ns, uint64_t *serial,
                                CUevent *start)
{
    struct vx_event_pair pair = {0};
    int mode;
    vx_capture_relax(&mode);
    pthread_mutex_lock(&vx_batch_lock);
    bool has = vx_events_take(order->device, &pair);
    struct vx_batch *b = has ? take_locked(order, prepaid_ns) : NULL;
    if (b) {
        b->events = pair;
        *serial = b->serial;
        *start = pair.start;
    } else if (has) {
        vx_events_give(&pair);
    }
    pthread_mutex_unlock(&vx_batch_lock);
    vx_capture_restore(&mode);
    return b;
}

/* False: its context went away meanwhile, or the driver refused. */
static bool begin(struct vx_batch *b, uint64_t serial, bool recorded)
{
    pthread_mutex_lock(&vx_batch_lock);
    bool ok = b->state == VX_BATCH_OPENING && b->serial == serial;
    if (ok && recorded) {
        b->state = VX_BATCH_OPEN;
    } else if (ok) {
        vx_events_give(&b->events);
        vx_batch_drop_locked(b);
    }
    pthread_mutex_unlock(&vx_batch_lock);
    return ok && recorded;
}

struct vx_batch *vx_flight_open(const struct vx_batch_order *order,
                                uint64_t *serial)
{
    int64_t prepaid_ns = vx_flight_with_gain(order->device, order->granted_ns);
    vx_session_debit((unsigned)order->device, prepaid_ns);
    VX_CRASH("credit.prepaid");
    CUevent start = NULL;
    struct vx_batch *b = prepare(order, prepaid_ns, serial, &start);
    if (b) {
        CUresult err = vx_cu()->cuEventRecord(start, order->stream);
        if (!begin(b, *serial, err == CUDA_SUCCESS))
            b = NULL;
    }
    VX_CRASH("credit.opened");
    if (!b)
        vx_batch_count_measured(order->device, order->granted_ns);
    return b;
}

/* Not held: both may ask the driver. False: no end could be recorded. */
static bool record_end(struct vx_batch *b)
{
    CUstream stream = b->order.stream;
    if (vx_capture_is_on(stream))
        return false;
    if (b->end.gap_ns || b->end.launches == 0) {
        int mode;
        vx_capture_relax(&mode);
        b->idle = vx_cu()->cuStreamQuery(stream) == CUDA_SUCCESS;
        vx_capture_restore(&mode);
    }
    return vx_cu()->cuEventRecord(b->events.end, stream) == CUDA_SUCCESS;
}

/* Of a batch that has no end the credit is what is charged. */
void vx_batch_charge_blind(const struct vx_batch *b)
{
    int64_t spent = b->end.launches ? b->end.spent_ns : b->order.granted_ns;
    vx_batch_count_measured(b->order.device, spent);
}

static void finish_closing(struct vx_batch *b, uint64_t serial)
{
    bool ok = record_end(b);
    pthread_mutex_lock(&vx_batch_lock);
    if (b->state != VX_BATCH_CLOSING || b->serial != serial) {
        /* Its context went away meanwhile. */
    } else if (ok) {
        b->state = VX_BATCH_CLOSED;
        open_count--;
        publish_counts();
    } else {
        vx_batch_charge_blind(b);
        vx_events_give(&b->events);
        vx_batch_drop_locked(b);
    }
    pthread_mutex_unlock(&vx_batch_lock);
    VX_CRASH("credit.closed");
}

void vx_flight_close(struct vx_batch *b, uint64_t serial,
                     const struct vx_batch_end *end)
{
    pthread_mutex_lock(&vx_batch_lock);
    bool mine = b->state == VX_BATCH_OPEN && b->serial == serial;
    if (mine) {
        b->state = VX_BATCH_CLOSING;
        b->end = *end;
    }
    pthread_mutex_unlock(&vx_batch_lock);
    if (mine)
        finish_closing(b, serial);
}

void vx_flight_abandon(struct vx_batch *b, uint64_t serial)
{
    pthread_mutex_lock(&vx_batch_lock);
    if (b->state == VX_BATCH_OPEN && b->serial == serial) {
        vx_batch_charge_blind(b);
        vx_events_give(&b->events);
        vx_batch_drop_locked(b);
    }
    pthread_mutex_unlock(&vx_batch_lock);
}

static bool is_special(CUstream stream)
{
    return stream == CU_STREAM_PER_THREAD || stream == CU_STREAM_LEGACY;
}

/*
 * The default streams mean another stream in another thread or context: only
 * their own thread may say where a batch in them ends.
 */
static struct vx_batch *next_open_locked(void)
{
    for (unsigned i = 0; i < vx_batch_count; i++) {
        struct vx_batch *b = vx_batch_at(i);
        if (b->state == VX_BATCH_OPEN &&
            (!is_special(b->order.stream) ||
             pthread_equal(b->owner, pthread_self()) ||
             (b->order.stream == CU_STREAM_LEGACY &&
              vx_events_are_current(&b->events))))
            return b;
    }
    return NULL;
}

void vx_flight_close_all(void)
{
    for (;;) {
        pthread_mutex_lock(&vx_batch_lock);
        struct vx_batch *b = next_open_locked();
        uint64_t serial = b ? b->serial : 0;
        if (b) {
            b->state = VX_BATCH_CLOSING;
            b->end = (struct vx_batch_end){0};
        }
        pthread_mutex_unlock(&vx_batch_lock);
        if (!b)
            return;
        finish_closing(b, serial);
    }
}

void vx_flight_after_fork(void)
{
    /* The parent's work: neither ours to ask about nor to settle. */
    pthread_mutex_init(&vx_batch_lock, NULL);
    for (unsigned i = 0; i < VX_BATCHES; i++)
        batches[i].state = VX_BATCH_UNUSED;
    vx_batch_count = open_count = 0;
    publish_counts();
    vx_events_after_fork();
    vx_window_after_fork();
    vx_reap_after_fork();
}
