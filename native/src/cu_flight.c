#include <pthread.h>
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

pthread_mutex_t vx_batch_lock = PTHREAD_MUTEX_INITIALIZER;
unsigned vx_batch_count;
static struct vx_batch batches[VX_BATCHES];
/* Indexes in the order of opening, oldest first. */
static uint16_t line[VX_BATCHES];
static unsigned open_count;
static _Atomic unsigned any, any_open;
static uint64_t serials;
static _Atomic uint64_t settled;
static _Atomic int wary;

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

static void count_measured(int device, int64_t ns)
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

bool vx_flight_is_wary(void)
{
    int left = atomic_load(&wary);
    return left > 0 && atomic_compare_exchange_strong(&wary, &left, left - 1);
}

uint64_t vx_flight_settled(void)
{
    return atomic_load(&settled);
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

static void drop_locked(unsigned place)
{
    struct vx_batch *b = &batches[line[place]];
    if (b->state != VX_BATCH_CLOSED)
        open_count--;
    b->state = VX_BATCH_UNUSED;
    for (unsigned i = place + 1; i < vx_batch_count; i++)
        line[i - 1] = line[i];
    vx_batch_count--;
    publish_counts();
}

static unsigned place_of(const struct vx_batch *b)
{
    unsigned place = 0;
    while (line[place] != b - batches)
        place++;
    return place;
}

/* A place and a pair of events; NULL: one of them is not to be had. */
static struct vx_batch *prepare(const struct vx_batch_order *order,
                                int64_t prepaid_ns, uint64_t *serial)
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
        drop_locked(place_of(b));
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
    struct vx_batch *b = prepare(order, prepaid_ns, serial);
    if (b) {
        CUevent start = b->events.start;
        CUresult err = vx_cu()->cuEventRecord(start, order->stream);
        if (!begin(b, *serial, err == CUDA_SUCCESS))
            b = NULL;
    }
    VX_CRASH("credit.opened");
    if (!b)
        count_measured(order->device, order->granted_ns);
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
static void charge_blind(const struct vx_batch *b)
{
    int64_t spent = b->end.launches ? b->end.spent_ns : b->order.granted_ns;
    count_measured(b->order.device, spent);
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
        charge_blind(b);
        vx_events_give(&b->events);
        drop_locked(place_of(b));
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

/*
 * The default streams mean another stream in another thread or context: only
 * their own thread may say where a batch in them ends.
 */
static struct vx_batch *next_open_locked(void)
{
    for (unsigned i = 0; i < vx_batch_count; i++) {
        struct vx_batch *b = vx_batch_at(i);
        bool special = b->order.stream == CU_STREAM_PER_THREAD ||
                       b->order.stream == CU_STREAM_LEGACY;
        if (b->state == VX_BATCH_OPEN &&
            (!special || pthread_equal(b->owner, pthread_self()) ||
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
    int64_t busy = vx_events_settle(&b->events, &elapsed);
    int64_t taken = without_gap(b, elapsed);
    teach(b, elapsed);
    if (busy > taken)
        busy = taken;
    if (elapsed < LEAST_NS && busy < LEAST_NS)
        busy = LEAST_NS;
    count_measured((int)device, busy);
    VX_CRASH("reap.measured");
    vx_session_debit(device, vx_flight_with_gain((int)device, busy) -
                                 b->prepaid_ns);
    VX_CRASH("reap.settled");
    atomic_fetch_add(&settled, 1);
}

static void reap_locked(void)
{
    int mode;
    unsigned waiting = 0;
    vx_capture_relax(&mode);
    for (unsigned i = 0; i < vx_batch_count && waiting < LOOKS;) {
        struct vx_batch *b = vx_batch_at(i);
        CUresult state = b->state == VX_BATCH_CLOSED
                             ? vx_cu()->cuEventQuery(b->events.end)
                             : CUDA_ERROR_NOT_READY;
        if (state == CUDA_SUCCESS) {
            settle_locked(b);
            drop_locked(i);
            continue;
        }
        /* A broken context never completes: its credit stays charged. */
        if (state != CUDA_ERROR_NOT_READY) {
            charge_blind(b);
            drop_locked(i);
            continue;
        }
        waiting += b->state == VX_BATCH_CLOSED;
        i++;
    }
    vx_capture_restore(&mode);
}

void vx_flight_reap(void)
{
    if (!vx_flight_any())
        return;
    pthread_mutex_lock(&vx_batch_lock);
    reap_locked();
    pthread_mutex_unlock(&vx_batch_lock);
}

void vx_flight_last_words(void)
{
    if (!vx_flight_any() || pthread_mutex_trylock(&vx_batch_lock) != 0)
        return;
    reap_locked();
    pthread_mutex_unlock(&vx_batch_lock);
}

void vx_flight_forget_device(int device)
{
    vx_flight_close_all();
    pthread_mutex_lock(&vx_batch_lock);
    reap_locked();
    for (unsigned i = 0; i < vx_batch_count;) {
        struct vx_batch *b = vx_batch_at(i);
        if (b->order.device != device) {
            i++;
            continue;
        }
        charge_blind(b);
        drop_locked(i);
    }
    vx_events_forget(device);
    pthread_mutex_unlock(&vx_batch_lock);
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
}
