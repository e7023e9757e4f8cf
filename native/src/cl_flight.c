#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "estimate.h"
#include "cl_launch.h"
#include "real.h"

enum { MAX_FLIGHT = 128, MAX_PENDING = 8 };

static struct vx_cl_flight flights[MAX_FLIGHT];
static unsigned count;
/* Of all entries that count; written under `lock`. */
static _Atomic int64_t expected_ns;
/* When the oldest entry that counts was launched; UINT64_MAX for none. */
static _Atomic uint64_t oldest_ns = UINT64_MAX;
static _Atomic bool is_full;
/* Spares the usual launch a walk over all entries. */
static _Atomic bool any_held;
static _Atomic uint32_t done_count; /* futex word: commands that ended */
static atomic_flag reaping = ATOMIC_FLAG_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool counts(const struct vx_cl_flight *f)
{
    return !f->held && !f->stalled;
}

static void sum_locked(void)
{
    int64_t sum = 0;
    uint64_t oldest = UINT64_MAX;
    bool held = false;
    for (unsigned i = 0; i < count; i++) {
        held |= flights[i].held;
        if (!counts(&flights[i]))
            continue;
        sum += flights[i].estimate_ns;
        if (flights[i].born_ns < oldest)
            oldest = flights[i].born_ns;
    }
    expected_ns = sum;
    oldest_ns = oldest;
    is_full = count == MAX_FLIGHT;
    any_held = held;
}

bool vx_cl_flight_add(const struct vx_cl_ticket *t, cl_command_queue queue,
                   cl_event event)
{
    struct vx_cl_flight f = {.key = t->key,
                          .launches = t->launches,
                          .estimate_ns = t->estimate_ns,
                          .event = event,
                          .queue = queue,
                          .born_ns = vx_now_ns(),
                          .held = t->held};
    pthread_mutex_lock(&lock);
    bool room = count < MAX_FLIGHT;
    if (room) {
        /* Behind one that was given up on, nothing can be waited for. */
        for (unsigned i = 0; i < count; i++)
            f.stalled |= flights[i].stalled && flights[i].queue == queue;
        flights[count++] = f;
        sum_locked();
    }
    pthread_mutex_unlock(&lock);
    return room;
}

int64_t vx_cl_flight_expected_ns(void)
{
    return expected_ns;
}

bool vx_cl_flight_is_behind(uint64_t now, uint64_t ns)
{
    uint64_t oldest = oldest_ns;
    return oldest != UINT64_MAX && (is_full || now > oldest + ns);
}

bool vx_cl_flight_has(uint64_t key)
{
    bool has = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < count && !has; i++)
        has = flights[i].key == key && counts(&flights[i]);
    pthread_mutex_unlock(&lock);
    return has;
}

/*
 * Only the one thread that holds `reaping` removes entries, so their events
 * stay valid while it asks the runtime without our lock: a callback may run
 * with the runtime's locks held and come back into this file.
 */
static unsigned copy_flights(struct vx_cl_flight *out)
{
    pthread_mutex_lock(&lock);
    unsigned n = count;
    for (unsigned i = 0; i < n; i++)
        out[i] = flights[i];
    pthread_mutex_unlock(&lock);
    return n;
}

static cl_int status_of(cl_event event)
{
    cl_int status = CL_COMPLETE;
    if (vx_real()->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                  sizeof status, &status, NULL) != CL_SUCCESS)
        return CL_COMPLETE;
    return status;
}

/*
 * Behind an unfinished command of its queue nothing is asked: on an in-order
 * queue it can't be done, on another one it is found a little later.
 */
static bool is_behind(const struct vx_cl_flight *seen, const cl_int *status,
                      unsigned i)
{
    for (unsigned j = 0; j < i; j++)
        if (status[j] > CL_COMPLETE && counts(&seen[j]) &&
            seen[j].queue == seen[i].queue)
            return true;
    return false;
}

static void ask_all(const struct vx_cl_flight *seen, cl_int *status, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        status[i] = is_behind(seen, status, i) ? CL_SUBMITTED
                                               : status_of(seen[i].event);
}

/* What was held behind a command that runs now is free to run as well. */
static void release_locked(cl_command_queue queue)
{
    for (unsigned i = 0; i < count; i++)
        if (flights[i].queue == queue)
            flights[i].held = false;
}

/* New entries are appended behind the n that were looked at. */
static void keep_unfinished(const struct vx_cl_flight *seen, unsigned n,
                            const cl_int *status)
{
    unsigned kept = 0;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < count; i++) {
        if (i < n && status[i] <= CL_COMPLETE)
            continue;
        struct vx_cl_flight f = flights[i];
        if (i < n)
            f.running = status[i] == CL_RUNNING;
        flights[kept++] = f;
    }
    count = kept;
    for (unsigned i = 0; i < n; i++)
        if (seen[i].held && status[i] <= CL_RUNNING)
            release_locked(seen[i].queue);
    sum_locked();
    pthread_mutex_unlock(&lock);
}

/* Ended, but not yet taught; touched by the holder of `reaping` only. */
static struct vx_cl_flight pending[MAX_PENDING];
static unsigned pending_count;

/* Shares the time among them by what each was expected to take. */
static void teach(int64_t *cpu_ns)
{
    int64_t expected = 0;
    for (unsigned i = 0; i < pending_count; i++)
        expected += pending[i].estimate_ns;
    for (unsigned i = 0; expected > 0 && i < pending_count; i++)
        vx_estimate_learn(pending[i].key,
                          (int64_t)((__int128)*cpu_ns * pending[i].estimate_ns /
                                    expected / pending[i].launches));
    if (pending_count > 0)
        *cpu_ns = 0;
    pending_count = 0;
}

/*
 * Taught when nothing is in flight, so that the time is all theirs, or when
 * there are enough of them to make the running one's part small.
 */
static void learn_ended(const struct vx_cl_flight *seen, unsigned n,
                        const cl_int *status, int64_t *cpu_ns)
{
    for (unsigned i = 0; i < n; i++) {
        if (status[i] > CL_COMPLETE)
            continue;
        if (pending_count == MAX_PENDING)
            teach(cpu_ns);
        pending[pending_count++] = seen[i];
    }
    if (pending_count == MAX_PENDING || expected_ns == 0)
        teach(cpu_ns);
}

void vx_cl_flight_reap(int64_t *cpu_ns)
{
    struct vx_cl_flight seen[MAX_FLIGHT];
    cl_int status[MAX_FLIGHT];
    if (atomic_flag_test_and_set(&reaping))
        return;
    unsigned n = copy_flights(seen);
    ask_all(seen, status, n);
    keep_unfinished(seen, n, status);
    learn_ended(seen, n, status, cpu_ns);
    atomic_flag_clear(&reaping);
    for (unsigned i = 0; i < n; i++)
        if (status[i] <= CL_COMPLETE)
            vx_real()->clReleaseEvent(seen[i].event);
}

static void on_done(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    (void)data;
    atomic_fetch_add(&done_count, 1);
    syscall(SYS_futex, &done_count, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* An event to wait for, retained; NULL when nothing is known to run. */
static cl_event pick_running(bool *watched)
{
    cl_event event = NULL;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < count && !event; i++) {
        if (!flights[i].running || !counts(&flights[i]))
            continue;
        event = flights[i].event;
        *watched = flights[i].watched;
        flights[i].watched = true;
        vx_real()->clRetainEvent(event);
    }
    pthread_mutex_unlock(&lock);
    return event;
}

bool vx_cl_flight_wait(uint64_t ns)
{
    bool watched = false;
    uint32_t before = atomic_load(&done_count);
    cl_event event = pick_running(&watched);
    if (!event)
        return false;
    if (!watched)
        vx_real()->clSetEventCallback(event, CL_COMPLETE, on_done, NULL);
    if (status_of(event) > CL_COMPLETE) {
        struct timespec t = {(time_t)(ns / 1000000000ULL),
                             (long)(ns % 1000000000ULL)};
        syscall(SYS_futex, &done_count, FUTEX_WAIT_PRIVATE, before, &t, NULL, 0);
    }
    vx_real()->clReleaseEvent(event);
    return true;
}

void vx_cl_flight_flush(void)
{
    struct vx_cl_flight seen[MAX_FLIGHT];
    if (atomic_flag_test_and_set(&reaping))
        return;
    unsigned n = copy_flights(seen);
    for (unsigned i = 0; i < n; i++)
        if (seen[i].queue && (i == 0 || seen[i].queue != seen[i - 1].queue))
            vx_real()->clFlush(seen[i].queue);
    atomic_flag_clear(&reaping);
}

void vx_cl_flight_hold(void)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < count; i++)
        flights[i].held |= !flights[i].running;
    sum_locked();
    pthread_mutex_unlock(&lock);
}

void vx_cl_flight_stall(void)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < count; i++)
        flights[i].stalled = true;
    sum_locked();
    pthread_mutex_unlock(&lock);
}

static bool is_open_user_event(cl_event event)
{
    cl_uint type = 0;
    return vx_real()->clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type,
                                     &type, NULL) == CL_SUCCESS &&
           type == CL_COMMAND_USER && status_of(event) > CL_COMPLETE;
}

bool vx_cl_flight_is_held(cl_command_queue queue, cl_uint waits,
                       const cl_event *list)
{
    bool held = false;
    if (!any_held && waits == 0)
        return false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < count && !held; i++) {
        held = flights[i].held && flights[i].queue == queue;
        for (cl_uint w = 0; list && flights[i].held && w < waits; w++)
            held |= list[w] == flights[i].event;
    }
    pthread_mutex_unlock(&lock);
    for (cl_uint w = 0; list && !held && w < waits; w++)
        held = is_open_user_event(list[w]);
    return held;
}

void vx_cl_flight_after_fork(void)
{
    /* The parent's commands: neither ours to ask about nor to release. */
    pthread_mutex_init(&lock, NULL);
    atomic_flag_clear(&reaping);
    count = 0;
    pending_count = 0;
    sum_locked();
}
