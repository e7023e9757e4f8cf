#include "cl_launch.h"

#include <pthread.h>
#include <stdatomic.h>

#include "clock.h"
#include "estimate.h"
#include "log.h"
#include "real.h"
#include "session.h"
#include "workers.h"

/* Wall time of work in flight that a launch may add to. */
static const int64_t WINDOW_NS = 8000000;
/* A waiter looks again at least this often: resize and pause are noticed. */
static const uint64_t LOOK_NS = 20000000;
/*
 * Nothing runs and no worker of the runtime does anything (such as compile)
 * for this long: what is queued depends on the host.
 */
static const uint64_t QUIET_NS = 250000000;
static const uint64_t QUIET_LOOK_NS = 16000000;
/* Even a running command may wait for a word the host has yet to write. */
static const uint64_t RUNNING_BOUND_NS = 5000000000;
/* Reading one worker's clock is a system call: keep its cost near 1 %. */
static const uint64_t MEASURE_GAP_PER_WORKER_NS = 25000;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_cpu_ns;
static _Atomic uint64_t last_measure_ns;
static int64_t prepaid_ns;
/* Launches known to be shorter than this are watched once in TINY_RUN. */
static const int64_t TINY_NS = 30000;
enum { TINY_RUN = 16, TINY_SAMPLES = 8 };

/* The run of tiny launches being collected; under `lock`. */
static struct {
    uint64_t key;
    cl_command_queue queue;
    unsigned launches;
    int64_t estimate_ns;
} run;

/* CPU time since the last reap that found something; under `lock`. */
static int64_t unshared_ns;

static int64_t with_gain(int64_t ns)
{
    uint64_t gain = atomic_load(&vx_session_limits(0)->gain_ppm);
    if (gain < 100000 || gain > 1500000)
        gain = 1000000;
    return (int64_t)((__int128)ns * (int64_t)gain / 1000000);
}

/* Under `lock`. Measured time first uses up what launches prepaid. */
static void measure_locked(void)
{
    uint64_t cpu = vx_workers_cpu_ns();
    VX_CRASH("measure.read");
    int64_t used = cpu > last_cpu_ns ? (int64_t)(cpu - last_cpu_ns) : 0;
    last_cpu_ns = cpu;
    unshared_ns += used;
    int64_t due = with_gain(used);
    int64_t from_prepaid = due < prepaid_ns ? due : prepaid_ns;
    prepaid_ns -= from_prepaid;
    if (due > from_prepaid)
        vx_session_debit(0, due - from_prepaid);
}

static bool measure_is_due(uint64_t now)
{
    unsigned workers = vx_workers_count();
    uint64_t gap = MEASURE_GAP_PER_WORKER_NS * (workers ? workers : 1);
    return now - atomic_load(&last_measure_ns) >= gap;
}

/* Prepaid beyond what is in flight was estimated too high: give it back. */
static void give_back_locked(void)
{
    int64_t needed = with_gain(vx_cl_flight_expected_ns());
    if (prepaid_ns > needed) {
        vx_session_debit(0, needed - prepaid_ns);
        prepaid_ns = needed;
    }
}

static void measure_and_reap(uint64_t now)
{
    pthread_mutex_lock(&lock);
    atomic_store(&last_measure_ns, now);
    measure_locked();
    int64_t cpu = unshared_ns;
    unshared_ns = 0;
    pthread_mutex_unlock(&lock);
    vx_cl_flight_reap(&cpu);
    pthread_mutex_lock(&lock);
    unshared_ns += cpu;
    give_back_locked();
    pthread_mutex_unlock(&lock);
}

static void settle(uint64_t now)
{
    if (measure_is_due(now))
        measure_and_reap(now);
}

void vx_cl_launch_settle(void)
{
    settle(vx_now_ns());
}

/* Sleeps until the budget is positive. False: the lease is gone. */
static bool wait_for_budget(uint64_t now, uint64_t *waited_ns)
{
    struct vx_bucket b = vx_session_bucket(0);
    uint64_t start = now;
    for (;;) {
        if (vx_session_closed())
            return false;
        uint64_t ns = vx_bucket_wait_ns(&b, vx_bucket_refill(&b, now), now);
        if (ns == 0 || vx_workers_is_self())
            break;
        VX_CRASH("wait.asleep");
        vx_sleep_ns(ns < LOOK_NS ? ns : LOOK_NS);
        now = vx_now_ns();
    }
    *waited_ns = now - start;
    return true;
}

static bool window_is_full(uint64_t key, uint64_t now)
{
    int64_t expected;
    if (vx_estimate_get(key, &expected) == 0)
        return vx_cl_flight_has(key);
    if (vx_cl_flight_is_behind(now, (uint64_t)WINDOW_NS))
        return true;
    uint64_t units = atomic_load(&vx_session_limits(0)->compute_units);
    return vx_cl_flight_expected_ns() > WINDOW_NS * (int64_t)(units ? units : 1);
}

struct patience {
    uint64_t start, quiet_since, looked;
};

static bool is_quiet(struct patience *p, uint64_t now)
{
    if (now - p->looked >= QUIET_LOOK_NS) {
        p->looked = now;
        if (!vx_workers_asleep())
            p->quiet_since = now;
    }
    return now - p->quiet_since > QUIET_NS;
}

/*
 * Waits for work that makes progress only, and not for ever: a command that
 * depends on a user event or on host memory may need the launch that we hold.
 */
static void wait_for_window(uint64_t key)
{
    uint64_t now = vx_now_ns();
    struct patience p = {now, now, now};
    measure_and_reap(now);
    vx_cl_flight_flush();
    while (window_is_full(key, now) && !vx_workers_is_self()) {
        if (vx_cl_flight_wait(5000000))
            p.quiet_since = now;
        else
            vx_sleep_ns(200000);
        now = vx_now_ns();
        if (now - p.start > RUNNING_BOUND_NS)
            vx_cl_flight_stall();
        else if (is_quiet(&p, now))
            vx_cl_flight_hold();
        settle(now);
    }
}

/* Under `lock`. Watches this launch, or leaves it to a later one's event. */
static void collect_locked(cl_command_queue queue, struct vx_cl_ticket *t,
                           unsigned samples, int64_t expected_ns)
{
    bool same = run.key == t->key && run.queue == queue;
    if (!same) {
        run.key = t->key;
        run.queue = queue;
        run.launches = 0;
        run.estimate_ns = 0;
    }
    t->launches = ++run.launches;
    t->estimate_ns = run.estimate_ns += expected_ns;
    t->wants_event = t->held || samples < TINY_SAMPLES || !same ||
                     expected_ns > TINY_NS || run.launches >= TINY_RUN;
    if (t->wants_event) {
        run.launches = 0;
        run.estimate_ns = 0;
    }
}

/* A run of tiny launches is prepaid at once, with the one that is watched. */
static void prepay(cl_command_queue queue, struct vx_cl_ticket *t)
{
    int64_t expected_ns, due = 0;
    unsigned samples = vx_estimate_get(t->key, &expected_ns);
    pthread_mutex_lock(&lock);
    collect_locked(queue, t, samples, expected_ns);
    if (t->wants_event)
        due = with_gain(t->estimate_ns);
    prepaid_ns += due;
    pthread_mutex_unlock(&lock);
    if (due)
        vx_session_debit(0, due);
    VX_CRASH("launch.prepaid");
}

bool vx_cl_launch_begin(uint64_t key, cl_command_queue queue, cl_uint waits,
                     const cl_event *list, struct vx_cl_ticket *t)
{
    uint64_t waited = 0, now = vx_now_ns();
    t->key = key;
    t->held = vx_cl_flight_is_held(queue, waits, list);
    settle(now);
    if (!wait_for_budget(now, &waited))
        return false;
    if (!t->held && window_is_full(key, now + waited))
        wait_for_window(key);
    vx_session_count_launches(0, 1, waited);
    prepay(queue, t);
    return true;
}

void vx_cl_launch_end(struct vx_cl_ticket *t, cl_command_queue queue,
                   cl_event event, bool owned, bool failed)
{
    if (!t->wants_event && !failed)
        return;
    VX_CRASH("launch.enqueued");
    if (event && !owned)
        vx_real()->clRetainEvent(event);
    bool tracked = event && vx_cl_flight_add(t, queue, event);
    if (event && !tracked)
        vx_real()->clReleaseEvent(event);
    VX_CRASH("launch.tracked");
    if (tracked || !failed)
        return;
    /* Nothing of it will run: what was prepaid for it goes back. */
    pthread_mutex_lock(&lock);
    give_back_locked();
    pthread_mutex_unlock(&lock);
}

void vx_cl_launch_last_words(void)
{
    if (!vx_session_owner() || vx_session_inert())
        return;
    /* May run anywhere, so it must not wait for a lock of ours. */
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    measure_locked();
    pthread_mutex_unlock(&lock);
}

void vx_cl_launch_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    vx_cl_flight_after_fork();
    vx_estimate_after_fork();
    last_cpu_ns = 0;
    atomic_store(&last_measure_ns, 0);
    prepaid_ns = 0;
    unshared_ns = 0;
    run.key = 0;
}
