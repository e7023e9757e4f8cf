#include "lane.h"

#include <stdlib.h>
#include <string.h>

static _Atomic(struct vf_lane *) lanes[VF_CARDS];
static pthread_mutex_t make_lock = PTHREAD_MUTEX_INITIALIZER;
static const uint64_t FIRST_POLL_NS = 20000, LAST_POLL_NS = 1000000;
static const uint64_t LONGEST_SLEEP_NS = 20000000; /* someone may die */

/* The parent's queues are not the child's; its locks may be held for ever. */
static void after_fork(void)
{
    pthread_mutex_init(&make_lock, NULL);
    for (int i = 0; i < VF_CARDS; i++)
        atomic_store(&lanes[i], NULL);
}

static struct vf_lane *make_lane(struct vf_card *card)
{
    struct vf_lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    if (!vf_self(card)) {
        free(lane);
        return NULL;
    }
    lane->card = card;
    lane->index = vf_self_index(card);
    lane->queue = &card->engine.queues[lane->index];
    pthread_mutex_init(&lane->lock, NULL);
    pthread_mutex_init(&lane->retire_lock, NULL);
    lane->streams[0].used = lane->streams[0].blocking = true;
    lane->next_stream = 1;
    return lane;
}

struct vf_lane *vf_lane(struct vf_card *card)
{
    static bool watching;
    int at = vf_index(card);
    struct vf_lane *lane = at < 0 ? NULL : atomic_load(&lanes[at]);
    if (lane || at < 0)
        return lane;
    pthread_mutex_lock(&make_lock);
    lane = atomic_load(&lanes[at]);
    if (!lane) {
        lane = make_lane(card);
        atomic_store(&lanes[at], lane);
    }
    if (!watching)
        pthread_atfork(NULL, NULL, after_fork);
    watching = true;
    pthread_mutex_unlock(&make_lock);
    return lane;
}

static struct vf_slot *slot_of(struct vf_lane *lane, uint64_t number)
{
    return &lane->queue->slots[number % VF_QUEUE];
}

static struct vf_effect *effect_of(struct vf_lane *lane, uint64_t number)
{
    return &lane->effects[number % VF_QUEUE];
}

/* ---- putting ------------------------------------------------------------- */

static void fill_effect(struct vf_effect *e, const struct vf_work *work)
{
    const struct vf_command *c = &work->command;
    e->effect = c->effect;
    e->timed = work->timed;
    e->ready = c->ready;
    e->on_thread = c->on_thread;
    atomic_store_explicit(&e->retired, false, memory_order_relaxed);
    e->arg = c->arg;
    if (c->copy_arg > 0 && c->copy_arg <= VF_ARG_BYTES) {
        memcpy(e->kept, c->arg, c->copy_arg);
        e->arg = e->kept;
    }
}

static void fill_slot(struct vf_slot *slot, uint32_t stream,
                      const struct vf_command *c, uint64_t now)
{
    slot->kind = c->kind;
    slot->stream = stream;
    slot->after = c->after;
    slot->arrival_ns = now;
    slot->left_ns = slot->duration_ns = c->duration_ns;
    slot->start_ns = 0;
    atomic_store_explicit(&slot->end_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->state, VF_QUEUED, memory_order_relaxed);
}

static bool is_full(struct vf_lane *lane)
{
    return lane->tail - atomic_load_explicit(&lane->queue->retired,
                                             memory_order_acquire) >= VF_QUEUE;
}

/* Holds the lane's lock before and after, not while it waits. */
static void wait_for_room(struct vf_lane *lane)
{
    while (is_full(lane)) {
        uint64_t oldest = lane->tail - VF_QUEUE + 1;
        pthread_mutex_unlock(&lane->lock);
        vf_lane_wait(lane, oldest);
        pthread_mutex_lock(&lane->lock);
    }
}

uint64_t vf_lane_put(struct vf_lane *lane, uint32_t stream,
                     const struct vf_work *work)
{
    const struct vf_command *c = &work->command;
    struct vf_queue *q = lane->queue;
    if (vf_clock_is_virtual())
        vf_spend_ns(vf_knob(lane->card, launch_cost_ns));
    pthread_mutex_lock(&lane->lock);
    wait_for_room(lane);
    uint64_t number = ++lane->tail;
    fill_effect(effect_of(lane, number), work);
    fill_slot(slot_of(lane, number), stream, c, vf_now_ns());
    atomic_store_explicit(&lane->streams[stream & VF_STREAM_MASK].last, number,
                          memory_order_relaxed);
    if (c->kind == VF_HOST)
        atomic_fetch_add(&lane->hosts, 1);
    else if (c->duration_ns)
        atomic_fetch_add_explicit(&q->queued_ns, c->duration_ns,
                                  memory_order_relaxed);
    atomic_store_explicit(&q->tail, number, memory_order_release);
    pthread_mutex_unlock(&lane->lock);
    if (c->kind == VF_HOST)
        vf_host_thread_call(lane, number);
    return number;
}

/* ---- looking --------------------------------------------------------------- */

static void retire(struct vf_lane *lane, uint64_t number, struct vf_slot *slot)
{
    struct vf_effect *e = effect_of(lane, number);
    if (e->effect && !e->on_thread)
        e->effect(e->arg);
    if (e->timed)
        e->timed(e->arg, number, atomic_load(&slot->end_ns));
    if (slot->kind == VF_HOST)
        atomic_fetch_sub(&lane->hosts, 1);
    atomic_store(&e->retired, true);
}

void vf_lane_release(struct vf_lane *lane, uint64_t number)
{
    struct vf_slot *slot = slot_of(lane, number);
    atomic_store(&slot->end_ns, vf_now_ns());
    atomic_store(&slot->state, VF_RELEASED);
}

/* Value waits that are reached: is the value there? */
static bool release_ready(struct vf_lane *lane, uint64_t number)
{
    struct vf_effect *e = effect_of(lane, number);
    if (atomic_load(&slot_of(lane, number)->state) != VF_BEGUN || !e->ready ||
        !e->ready(e->arg))
        return false;
    vf_lane_release(lane, number);
    return true;
}

/*
 * Runs the effects of what is done, in order; while a host command is open,
 * later ones may be done before it. True: something was released by that.
 */
static bool retire_done(struct vf_lane *lane)
{
    struct vf_queue *q = lane->queue;
    uint64_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);
    uint64_t first = atomic_load(&q->retired) + 1;
    bool in_order = atomic_load(&lane->hosts) == 0, released = false;
    for (uint64_t n = first; n <= tail; n++) {
        struct vf_slot *slot = slot_of(lane, n);
        uint32_t state = atomic_load(&slot->state);
        if (state == VF_DONE && !effect_of(lane, n)->retired)
            retire(lane, n, slot);
        else if (state != VF_DONE && in_order)
            break;
        else if (state == VF_BEGUN && slot->kind == VF_HOST)
            released |= release_ready(lane, n);
    }
    /* The engine must have passed a slot before it may be used again. */
    uint64_t head = atomic_load_explicit(&q->head, memory_order_acquire);
    while (first <= head && effect_of(lane, first)->retired)
        first++;
    atomic_store_explicit(&q->retired, first - 1, memory_order_release);
    return released;
}

/* Up to now, and when to look again for `number` (UINT64_MAX: unknown). */
static uint64_t look_for(struct vf_lane *lane, uint64_t number)
{
    uint64_t when = 0;
    bool again = true;
    vf_settle();
    pthread_mutex_lock(&lane->retire_lock);
    while (again) {
        vf_lock(lane->card);
        vf_advance_to(lane->card, vf_now_ns());
        if (number)
            when = vf_expect_end(lane->card, lane->index, number);
        vf_unlock(lane->card);
        again = retire_done(lane);
    }
    pthread_mutex_unlock(&lane->retire_lock);
    return when;
}

void vf_lane_look(struct vf_lane *lane) { look_for(lane, 0); }

bool vf_lane_is_done(struct vf_lane *lane, uint64_t number)
{
    uint64_t retired = atomic_load_explicit(&lane->queue->retired,
                                            memory_order_acquire);
    if (number <= retired)
        return true;
    return number - retired <= VF_QUEUE && effect_of(lane, number)->retired &&
           atomic_load(&slot_of(lane, number)->state) == VF_DONE;
}

static void sleep_towards(uint64_t when, uint64_t *poll)
{
    uint64_t now = vf_now_ns();
    if (when == UINT64_MAX || when <= now) {
        when = now + *poll;
        *poll = *poll * 2 < LAST_POLL_NS ? *poll * 2 : LAST_POLL_NS;
    } else if (when - now > LONGEST_SLEEP_NS) {
        when = now + LONGEST_SLEEP_NS;
    }
    vf_sleep_until_ns(when);
}

void vf_lane_wait(struct vf_lane *lane, uint64_t number)
{
    uint64_t poll = FIRST_POLL_NS;
    while (!vf_lane_is_done(lane, number)) {
        uint64_t when = look_for(lane, number);
        if (!vf_lane_is_done(lane, number))
            sleep_towards(when, &poll);
    }
}

bool vf_lane_all_done(struct vf_lane *lane, uint64_t number)
{
    return atomic_load(&lane->queue->retired) >= number;
}

void vf_lane_wait_all(struct vf_lane *lane, uint64_t number)
{
    if (number)
        vf_lane_wait(lane, number);
    while (!vf_lane_all_done(lane, number))
        vf_lane_wait(lane, atomic_load(&lane->queue->retired) + 1);
}

/* ---- streams ------------------------------------------------------------------ */

/* The numbers go round, so that a closed stream's last work is long done. */
int vf_lane_open_stream(struct vf_lane *lane, bool blocking)
{
    int id = -1;
    pthread_mutex_lock(&lane->lock);
    for (int i = 0; i < VF_STREAMS && id < 0; i++) {
        uint32_t at = (lane->next_stream + (uint32_t)i) % VF_STREAMS;
        struct vf_stream_slot *s = &lane->streams[at];
        if (!s->used && vf_lane_is_done(lane, atomic_load(&s->last)))
            id = (int)at;
    }
    if (id >= 0) {
        lane->streams[id].used = true;
        lane->streams[id].blocking = blocking;
        atomic_store(&lane->streams[id].last, 0);
        lane->next_stream = (uint32_t)id + 1;
    }
    pthread_mutex_unlock(&lane->lock);
    return id;
}

void vf_lane_close_stream(struct vf_lane *lane, int id)
{
    pthread_mutex_lock(&lane->lock);
    lane->streams[id].used = false;
    pthread_mutex_unlock(&lane->lock);
}

/* The legacy stream comes after all that blocking streams hold. */
bool vf_lane_stream_done(struct vf_lane *lane, int id)
{
    if (id != 0)
        return vf_lane_is_done(lane, atomic_load(&lane->streams[id].last));
    for (int i = 0; i < VF_STREAMS; i++)
        if (lane->streams[i].blocking &&
            !vf_lane_is_done(lane, atomic_load(&lane->streams[i].last)))
            return false;
    return true;
}

void vf_lane_stream_wait(struct vf_lane *lane, int id)
{
    if (id != 0) {
        vf_lane_wait(lane, atomic_load(&lane->streams[id].last));
        return;
    }
    uint64_t latest = 0;
    for (int i = 0; i < VF_STREAMS; i++)
        if (lane->streams[i].blocking &&
            atomic_load(&lane->streams[i].last) > latest)
            latest = atomic_load(&lane->streams[i].last);
    vf_lane_wait(lane, latest);
    for (int i = 0; i < VF_STREAMS; i++)
        if (lane->streams[i].blocking)
            vf_lane_wait(lane, atomic_load(&lane->streams[i].last));
}
