#include "cu_gate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "cu_capture.h"
#include "cu_memory.h"
#include "cu_real.h"
#include "log.h"
#include "session.h"

/* Device time that a launch may add to. */
static const int64_t WINDOW_NS = 8000000;
/* A credit: what may be launched without another look at the budget. */
static const int64_t CREDIT_NS = 200000;
/* Taken on trust for what was never measured. */
static const int64_t UNKNOWN_NS = 1000000;
/* A waiter looks again at least this often: resize and pause are noticed. */
static const uint64_t LOOK_NS = 20000000;
static const uint64_t SHORTEST_NAP_NS = 10000;
/* Nothing of ours runs for this long: what is queued waits for the host. */
static const uint64_t QUIET_NS = 250000000;
/* Even what runs may wait for a word that the host has yet to write. */
static const uint64_t RUNNING_BOUND_NS = 5000000000;
/* Each so many batches are one launch: means are not taken from sums alone. */
enum { SAMPLE_EACH = 16, FIRST_SAMPLES = 4 };
/* What a launch answers when the lease is gone. */
static const CUresult GONE = CUDA_ERROR_DEVICE_UNAVAILABLE;

__thread struct vx_lane vx_lanes[VX_LANES];
__thread bool vx_gate_in_callback;
_Atomic uint64_t vx_gate_epoch = 1;
static _Atomic unsigned batches_opened;

/* Ends the lane's batch, if it is still the lane's. */
static void close_lane(struct vx_lane *l)
{
    if (l->epoch == 0)
        return;
    uint64_t ticks = vx_ticks(), gap = ticks - l->ticks;
    struct vx_batch_end end = {.launches = l->launches,
                               .pure = l->mixed == 0,
                               .spent_ns = l->granted_ns - l->left_ns};
    if (gap > VX_GAP_TICKS && ticks > l->open_ticks)
        end.gap_ns = (uint64_t)((unsigned __int128)(vx_now_ns() - l->open_ns) *
                                gap / (ticks - l->open_ticks));
    l->epoch = 0;
    vx_session_count_launches((unsigned)l->device, l->launches, 0);
    if (l->batch)
        vx_flight_close(l->batch, l->serial, &end);
}

static void close_own_lanes(void)
{
    for (int i = 0; i < VX_LANES; i++)
        close_lane(&vx_lanes[i]);
}

/*
 * A thread ends with a credit. Its default streams end with it and the driver
 * may not be asked any more; in other streams someone else ends the batch.
 */
static void thread_ends(void *lanes)
{
    for (struct vx_lane *l = lanes; l < (struct vx_lane *)lanes + VX_LANES;
         l++) {
        if (l->epoch == 0)
            continue;
        vx_session_count_launches((unsigned)l->device, l->launches, 0);
        if (l->batch && (l->stream == CU_STREAM_PER_THREAD ||
                         l->stream == CU_STREAM_LEGACY))
            vx_flight_abandon(l->batch, l->serial);
    }
}

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
    pthread_key_create(&thread_key, thread_ends);
}

static void watch_thread(void)
{
    static __thread bool watched;
    if (watched)
        return;
    pthread_once(&thread_once, make_key);
    watched = pthread_setspecific(thread_key, vx_lanes) == 0;
}

void vx_gate_void(void)
{
    close_own_lanes();
    atomic_fetch_add(&vx_gate_epoch, 1);
    vx_flight_close_all();
}

static bool measures(void)
{
    return vx_flight_any() && !vx_gate_in_callback;
}

void vx_gate_before_sync(void)
{
    if (!vx_flight_any_open() || !measures())
        return;
    close_own_lanes();
    if (vx_flight_any_open())
        vx_gate_void();
}

void vx_gate_after_sync(void)
{
    if (measures())
        vx_flight_reap();
}

void vx_gate_interrupt(CUstream stream)
{
    struct vx_lane *l = vx_lane_of(stream);
    if (!measures())
        return;
    if (l->stream == stream)
        close_lane(l);
}

void vx_gate_leave_context(CUcontext next)
{
    CUcontext now = NULL;
    if (!vx_flight_any_open() || vx_gate_in_callback)
        return;
    if (vx_cu()->cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == next)
        return;
    close_lane(vx_lane_of(CU_STREAM_LEGACY));
    close_lane(vx_lane_of(CU_STREAM_PER_THREAD));
}

/*
 * A context may end now, and its events with it: what they have yet to tell
 * is waited for, else work of any length could be had for its estimate. Not
 * for what waits for the host, nor for ever.
 */
static void drain(int device)
{
    uint64_t start = vx_now_ns(), now = start, quiet = start;
    for (unsigned looks = 0; vx_flight_has_closed(device); looks++) {
        if (now - quiet > QUIET_NS || vx_session_closed())
            return;
        if (now - start > RUNNING_BOUND_NS) {
            vx_session_debit((unsigned)device,
                             vx_flight_with_gain(device, (int64_t)(now - start)));
            return;
        }
        vx_sleep_ns(50000ULL << (looks < 6 ? looks : 6));
        uint64_t settled = vx_flight_settled();
        vx_flight_reap();
        now = vx_now_ns();
        if (vx_flight_runs(device) || settled != vx_flight_settled())
            quiet = now;
    }
}

void vx_gate_forget_device(int device)
{
    if (vx_gate_in_callback)
        return;
    vx_gate_void();
    drain(device);
    vx_flight_forget_device(device);
}

/* Never so short that many waiters do nothing but wake. */
static void nap(uint64_t ns)
{
    ns = ns < SHORTEST_NAP_NS ? SHORTEST_NAP_NS : ns;
    vx_sleep_ns(ns < LOOK_NS ? ns : LOOK_NS);
}

/* Sleeps until the budget is positive. False: the lease is gone. */
static bool wait_for_budget(int device, uint64_t *waited_ns)
{
    struct vx_bucket b = vx_session_bucket((unsigned)device);
    uint64_t start = vx_now_ns(), now = start;
    for (;;) {
        if (vx_session_closed())
            return false;
        vx_flight_reap();
        uint64_t ns = vx_bucket_wait_ns(&b, vx_bucket_refill(&b, now), now);
        if (ns == 0)
            break;
        VX_CRASH("gate.asleep");
        nap(ns);
        now = vx_now_ns();
    }
    *waited_ns = now - start;
    return true;
}

static bool window_is_full(int device, uint64_t key, bool known)
{
    if (!known && vx_flight_has_unknown(key))
        return true;
    return vx_flight_queued_ns(device) > WINDOW_NS;
}

/* Until the excess is done, as far as estimates tell; then look again. */
static uint64_t window_nap_ns(int device, unsigned looks)
{
    int64_t excess = vx_flight_queued_ns(device) - WINDOW_NS;
    uint64_t most = 100000ULL << (looks < 6 ? looks : 6);
    if (excess > (int64_t)most)
        most = (uint64_t)excess;
    return most < 5000000 ? most : 5000000;
}

/*
 * Waits for work that makes progress only, and not for ever: what depends on
 * the host may need the launch that we hold.
 */
static bool wait_for_window(int device, uint64_t key, bool known)
{
    uint64_t start = vx_now_ns(), now = start, quiet = start;
    uint64_t settled = vx_flight_settled();
    for (unsigned looks = 0; window_is_full(device, key, known); looks++) {
        if (vx_session_closed())
            return false;
        if (looks == 0)
            vx_gate_void(); /* what has no end can't be seen to end */
        else
            vx_sleep_ns(window_nap_ns(device, looks));
        vx_flight_reap();
        now = vx_now_ns();
        if (vx_flight_runs(device) || settled != vx_flight_settled())
            quiet = now;
        settled = vx_flight_settled();
        if (now - start > RUNNING_BOUND_NS)
            vx_flight_stall(device);
        else if (now - quiet > QUIET_NS)
            vx_flight_hold(device);
    }
    return true;
}

/* A batch of one: it teaches what the function costs. */
static bool is_sample(unsigned samples)
{
    return samples < FIRST_SAMPLES || vx_flight_is_wary() ||
           atomic_fetch_add(&batches_opened, 1) % SAMPLE_EACH == 0;
}

static enum vx_turn open_lane(struct vx_lane *l, CUstream stream, uint64_t key,
                              int device)
{
    int64_t cost, credit = vx_flight_without_gain(device, CREDIT_NS);
    unsigned samples = vx_cost_get(key, &cost);
    watch_thread();
    if (samples == 0)
        cost = UNKNOWN_NS;
    bool last = is_sample(samples) || 2 * cost > credit;
    struct vx_batch_order order = {.device = device, .stream = stream,
                                   .key = key, .known = samples > 0,
                                   .granted_ns = last ? cost : credit};
    *l = (struct vx_lane){.stream = stream, .key = key, .device = device,
                          .epoch = atomic_load(&vx_gate_epoch), .launches = 1,
                          .granted_ns = order.granted_ns,
                          .left_ns = order.granted_ns - cost};
    l->batch = vx_flight_open(&order, &l->serial);
    l->open_ns = vx_now_ns();
    l->open_ticks = l->ticks = vx_ticks();
    return last ? VX_TURN_LAST : VX_TURN_OPEN;
}

/* On a driver's own thread nothing may wait, nor may the driver be called. */
static CUresult charge_only(uint64_t key, enum vx_turn *turn)
{
    int64_t cost;
    *turn = VX_TURN_FREE;
    if (vx_session_closed())
        return GONE;
    if (vx_cost_get(key, &cost) == 0)
        cost = UNKNOWN_NS;
    vx_session_debit(0, vx_flight_with_gain(0, cost));
    vx_session_count_launches(0, 1, 0);
    return CUDA_SUCCESS;
}

/* True: the credit covers this one too, as the last. */
static bool spend_rest(struct vx_lane *l, CUstream stream, uint64_t key)
{
    int64_t cost;
    if (l->stream != stream || l->epoch != atomic_load(&vx_gate_epoch) ||
        vx_cost_get(key, &cost) == 0 || cost > l->left_ns ||
        vx_ticks() - l->ticks > VX_GAP_TICKS)
        return false;
    l->left_ns -= cost;
    l->mixed |= l->key ^ key;
    l->launches++;
    l->ticks = vx_ticks();
    return true;
}

static CUresult enter_limited(CUstream stream, uint64_t key, int device,
                              enum vx_turn *turn)
{
    struct vx_lane *l = vx_lane_of(stream);
    int64_t cost;
    uint64_t waited = 0;
    close_lane(l);
    vx_flight_reap();
    bool known = vx_cost_get(key, &cost) > 0;
    if (!wait_for_budget(device, &waited) ||
        (window_is_full(device, key, known) &&
         !wait_for_window(device, key, known)))
        return GONE;
    if (waited)
        vx_session_count_launches((unsigned)device, 0, waited);
    *turn = open_lane(l, stream, key, device);
    return CUDA_SUCCESS;
}

CUresult vx_gate_enter(CUstream stream, uint64_t key, enum vx_turn *turn)
{
    *turn = VX_TURN_FREE;
    if (spend_rest(vx_lane_of(stream), stream, key)) {
        *turn = VX_TURN_LAST;
        return CUDA_SUCCESS;
    }
    enum vx_mode mode = vx_cu_mode();
    if (mode != VX_LIMIT)
        return mode == VX_PASS ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
    if (vx_gate_in_callback)
        return charge_only(key, turn);
    if (vx_capture_is_on(stream))
        return CUDA_SUCCESS; /* the cost falls on the graph's launch */
    int device = vx_cu_current_device();
    /* No context: the driver says so. A card of others: not from here. */
    if (device < 0)
        return device == VX_DEVICE_NONE ? CUDA_SUCCESS
                                        : CUDA_ERROR_INVALID_DEVICE;
    return enter_limited(stream, key, device, turn);
}

void vx_gate_leave(CUstream stream, enum vx_turn turn)
{
    if (turn == VX_TURN_LAST)
        close_lane(vx_lane_of(stream));
    if (turn != VX_TURN_FREE)
        VX_CRASH("gate.launched");
}

/* Sleeps until the share of copies allows another. */
static CUresult wait_for_copies(int device, uint64_t bytes)
{
    struct vx_bucket b = vx_session_bucket((unsigned)device);
    for (uint64_t now = vx_now_ns();; now = vx_now_ns()) {
        if (vx_session_closed())
            return GONE;
        uint64_t ns = atomic_load(&b.limits->pause) != 0
                          ? LOOK_NS : vx_bucket_held_ns(&b, now);
        if (ns == 0)
            ns = vx_copy_wait_ns(&b, vx_copy_refill(&b, now));
        if (ns == 0)
            break;
        VX_CRASH("copy.asleep");
        nap(ns);
    }
    vx_copy_debit(&b, bytes);
    return CUDA_SUCCESS;
}

CUresult vx_gate_copy(CUstream stream, uint64_t bytes)
{
    enum vx_mode mode = vx_cu_mode();
    if (mode != VX_LIMIT)
        return mode == VX_PASS ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
    if (vx_gate_in_callback || vx_capture_is_on(stream))
        return CUDA_SUCCESS;
    int device = vx_cu_current_device();
    return device < 0 ? CUDA_SUCCESS : wait_for_copies(device, bytes);
}

void vx_gate_last_words(void)
{
    if (vx_session_owner() && !vx_session_inert())
        vx_flight_last_words();
}

void vx_gate_after_fork(void)
{
    memset(vx_lanes, 0, sizeof vx_lanes);
    vx_gate_in_callback = false;
    atomic_fetch_add(&vx_gate_epoch, 1);
    vx_cost_after_fork();
    vx_flight_after_fork();
    vx_capture_after_fork();
}
