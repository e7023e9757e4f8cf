#include "engine.h"

#include <string.h>

#include "card.h"
#include "paging.h"

/* Streams of one process that can not go on in this look. */
struct held {
    uint64_t word[VF_STREAMS / 64];
    bool any_blocking, legacy, some;
};

enum verdict { RUN, WAIT_ARRIVAL, HELD };

struct pick {
    struct vf_slot *slot;
    uint64_t wake; /* nothing to run: the next arrival, UINT64_MAX if none */
};

static struct vf_slot *slot_of(struct vf_queue *q, uint64_t number)
{
    return &q->slots[number % VF_QUEUE];
}

void vf_queue_clear(struct vf_card *card, int index)
{
    struct vf_queue *q = &card->engine.queues[index];
    atomic_store(&q->tail, 0);
    atomic_store(&q->head, 0);
    atomic_store(&q->retired, 0);
    atomic_store(&q->queued_ns, 0);
    atomic_store(&q->done_ns, 0);
    atomic_store(&q->busy_ns, 0);
    atomic_store(&q->copied_ns, 0);
    atomic_store(&q->held, 0);
    memset(q->busy, 0, sizeof q->busy);
}

static void note_busy(struct vf_card *card, struct vf_queue *q,
                      const struct vf_slot *slot, uint64_t from, uint64_t ns)
{
    atomic_fetch_add(&q->busy_ns, ns);
    atomic_fetch_add(&card->engine.busy_ns, ns);
    if (slot->kind == VF_COPY)
        atomic_fetch_add(&q->copied_ns, ns);
    while (ns > 0) {
        uint64_t period = from / VF_BUSY_PERIOD_NS;
        uint64_t part = (period + 1) * VF_BUSY_PERIOD_NS - from;
        if (part > ns)
            part = ns;
        int at = (int)(period % VF_BUSY_PERIODS);
        if (q->busy[at].period != period) {
            q->busy[at].ns = 0;
            q->busy[at].period = period;
        }
        q->busy[at].ns += part;
        from += part;
        ns -= part;
    }
}

static uint64_t busy_of(const struct vf_queue *q, uint64_t from, uint64_t to)
{
    uint64_t sum = 0;
    for (int i = 0; i < VF_BUSY_PERIODS; i++) {
        uint64_t begin = q->busy[i].period * VF_BUSY_PERIOD_NS;
        if (begin >= from && begin + VF_BUSY_PERIOD_NS <= to)
            sum += q->busy[i].ns;
    }
    return sum;
}

uint64_t vf_busy_between(struct vf_card *card, int index, uint64_t from,
                         uint64_t to)
{
    return busy_of(&card->engine.queues[index], from, to);
}

/* ---- what can run -------------------------------------------------------- */

static bool is_held(const struct held *held, uint32_t stream)
{
    uint32_t id = stream & VF_STREAM_MASK;
    if (id == 0)
        return held->legacy || held->any_blocking;
    if ((stream & VF_STREAM_BLOCKING) && held->legacy)
        return true;
    return held->word[id / 64] >> (id % 64) & 1;
}

static void hold(struct held *held, uint32_t stream)
{
    uint32_t id = stream & VF_STREAM_MASK;
    held->some = true;
    if (id == 0)
        held->legacy = true;
    else if (stream & VF_STREAM_BLOCKING)
        held->any_blocking = true;
    held->word[id / 64] |= 1ULL << (id % 64);
}

static bool is_done(struct vf_queue *q, uint64_t number, uint64_t head)
{
    return number <= head ||
           atomic_load(&slot_of(q, number)->state) == VF_DONE;
}

static void finish(const struct vf_engine *e, struct vf_slot *slot)
{
    if (slot->kind == VF_HOST) {
        if (atomic_load(&slot->end_ns) < slot->start_ns)
            atomic_store(&slot->end_ns, slot->start_ns);
    } else {
        atomic_store(&slot->end_ns, e->time_ns);
    }
    atomic_store(&slot->state, VF_DONE);
}

/* A host command begins when it is reached and ends when its owner says. */
static enum verdict look_at_host(const struct vf_engine *e,
                                 struct vf_slot *slot, uint64_t *wake)
{
    uint32_t state = atomic_load(&slot->state);
    if (state == VF_QUEUED) {
        slot->start_ns = e->time_ns;
        atomic_store(&slot->state, VF_BEGUN);
        return HELD;
    }
    if (state != VF_RELEASED)
        return HELD;
    uint64_t end = atomic_load(&slot->end_ns);
    if (end > e->time_ns) {
        if (end < *wake)
            *wake = end;
        return HELD;
    }
    finish(e, slot);
    return RUN;
}

static enum verdict look_at(struct vf_engine *e, struct vf_queue *q,
                            struct vf_slot *slot, uint64_t head,
                            const struct held *held, uint64_t *wake)
{
    if (held->some && is_held(held, slot->stream))
        return HELD;
    if (slot->after && !is_done(q, slot->after, head))
        return HELD;
    if (slot->arrival_ns > e->time_ns) {
        if (slot->arrival_ns < *wake)
            *wake = slot->arrival_ns;
        return WAIT_ARRIVAL;
    }
    if (slot->kind == VF_HOST)
        return look_at_host(e, slot, wake);
    if (slot->kind == VF_MARK && slot->left_ns == 0) {
        slot->start_ns = e->time_ns;
        finish(e, slot);
    }
    return RUN;
}

static uint64_t pass_done(struct vf_queue *q, uint64_t head, uint64_t tail)
{
    while (head < tail &&
           atomic_load(&slot_of(q, head + 1)->state) == VF_DONE)
        head++;
    return head;
}

/*
 * The first command of a queue that can use the card now. What takes no time
 * is finished on the way. Commands of one stream keep their order; those of
 * others pass what waits for the host.
 */
static struct pick next_of(struct vf_engine *e, struct vf_queue *q)
{
    struct pick pick = {NULL, UINT64_MAX};
    struct held held = {.some = false};
    uint64_t head = atomic_load(&q->head);
    uint64_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);
    if (tail > head + VF_QUEUE)
        tail = head; /* rubbish: its owner wrote over it */
    for (uint64_t n = head + 1; n <= tail; n++) {
        struct vf_slot *slot = slot_of(q, n);
        if (atomic_load(&slot->state) == VF_DONE)
            continue;
        enum verdict v = look_at(e, q, slot, head, &held, &pick.wake);
        if (v == RUN && atomic_load(&slot->state) != VF_DONE) {
            pick.slot = slot;
            break;
        }
        if (v == RUN)
            continue;
        hold(&held, slot->stream);
    }
    atomic_store(&q->head, pass_done(q, head, tail));
    atomic_store_explicit(&q->held, !pick.slot && held.some,
                          memory_order_relaxed);
    return pick;
}

/* ---- executing ------------------------------------------------------------- */

static void run_for(struct vf_card *card, struct vf_queue *q,
                    struct vf_slot *slot, uint64_t ns)
{
    struct vf_engine *e = &card->engine;
    if (atomic_load(&slot->state) == VF_QUEUED) {
        slot->start_ns = e->time_ns;
        atomic_store(&slot->state, VF_BEGUN);
    }
    if (ns > slot->left_ns)
        ns = slot->left_ns;
    note_busy(card, q, slot, e->time_ns, ns);
    vf_paging_done(card, e->current, ns);
    atomic_fetch_add(&q->done_ns, ns);
    slot->left_ns -= ns;
    e->time_ns += ns;
    if (slot->left_ns > 0)
        return;
    finish(e, slot);
    uint64_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);
    atomic_store(&q->head, pass_done(q, atomic_load(&q->head), tail));
}

/*
 * The process whose turn it is, starting behind `current`; -1: nobody's. Who
 * would displace what another one pages in comes last.
 */
static int next_process(struct vf_card *card, struct pick *pick)
{
    struct vf_engine *e = &card->engine;
    struct pick last;
    int late = -1;
    uint64_t wake = UINT64_MAX;
    uint32_t high = e->high <= VF_ENGINE_PROCESSES ? e->high : 0;
    for (uint32_t i = 1; i <= high; i++) {
        uint32_t index = (e->current + i) % high;
        struct vf_queue *q = &e->queues[index];
        if (atomic_load(&q->head) == atomic_load(&q->tail))
            continue;
        *pick = next_of(e, q);
        if (pick->slot && !vf_paging_waits(card, index))
            return (int)index;
        if (pick->slot && late < 0) {
            late = (int)index;
            last = *pick;
        }
        if (pick->wake < wake)
            wake = pick->wake;
    }
    pick->wake = wake;
    if (late >= 0)
        *pick = last;
    return late;
}

static bool still_its_turn(struct vf_card *card, struct pick *pick)
{
    struct vf_engine *e = &card->engine;
    if (e->time_ns >= e->turn_end_ns || e->current >= VF_ENGINE_PROCESSES)
        return false;
    *pick = next_of(e, &e->queues[e->current]);
    return pick->slot != NULL;
}

static bool step(struct vf_card *card, uint64_t now)
{
    struct vf_engine *e = &card->engine;
    struct pick pick;
    if (!still_its_turn(card, &pick)) {
        int index = next_process(card, &pick);
        if (index < 0) {
            e->time_ns = pick.wake < now ? pick.wake : now;
            return pick.wake <= now;
        }
        e->current = (uint32_t)index;
        uint64_t paging = vf_paging_ns(card, index);
        pick.slot->left_ns += paging;
        atomic_fetch_add(&e->queues[index].queued_ns, paging);
        e->turn_end_ns = e->time_ns + vf_knob(card, quantum_ns);
    }
    uint64_t until = e->turn_end_ns < now ? e->turn_end_ns : now;
    run_for(card, &e->queues[e->current], pick.slot, until - e->time_ns);
    return e->time_ns < now || pick.slot->left_ns == 0;
}

void vf_advance_to(struct vf_card *card, uint64_t now)
{
    struct vf_engine *e = &card->engine;
    if (e->time_ns > now)
        return;
    vf_reap_due(card, now); /* what the dead asked for is not done */
    while (step(card, now))
        ;
}

/* ---- looking ahead ----------------------------------------------------------- */

/* Device time up to the end of a command; UINT64_MAX when it is held. */
static uint64_t work_until(struct vf_engine *e, struct vf_queue *q,
                           uint64_t number)
{
    struct held held = {.some = false};
    uint64_t head = atomic_load(&q->head), at = e->time_ns;
    for (uint64_t n = head + 1; n <= number; n++) {
        struct vf_slot *slot = slot_of(q, n);
        uint32_t state = atomic_load(&slot->state);
        if (state == VF_DONE)
            continue;
        if (state == VF_RELEASED && atomic_load(&slot->end_ns) > at)
            at = atomic_load(&slot->end_ns);
        bool stuck = held.some && is_held(&held, slot->stream);
        if (stuck && n == number)
            return UINT64_MAX;
        if (n < number && slot->kind == VF_HOST && state != VF_RELEASED)
            stuck = true;
        if (stuck) {
            hold(&held, slot->stream);
            continue;
        }
        at = (slot->arrival_ns > at ? slot->arrival_ns : at) + slot->left_ns;
    }
    return at - e->time_ns;
}

/* What a process may want of the card; a bound from below. */
static uint64_t wanted(struct vf_queue *q)
{
    uint64_t queued = atomic_load(&q->queued_ns);
    uint64_t done = atomic_load(&q->done_ns);
    return atomic_load(&q->held) || queued <= done ? 0 : queued - done;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

uint64_t vf_expect_end(struct vf_card *card, int index, uint64_t number)
{
    struct vf_engine *e = &card->engine;
    uint64_t quantum = vf_knob(card, quantum_ns);
    uint64_t work = work_until(e, &e->queues[index], number);
    if (work == UINT64_MAX)
        return UINT64_MAX;
    uint64_t rest = e->turn_end_ns > e->time_ns ? e->turn_end_ns - e->time_ns
                                                : 0;
    bool mine = e->current == (uint32_t)index;
    uint64_t own = mine ? least(rest, work) : 0;
    if (quantum == 0)
        quantum = 1;
    uint64_t turns = (work - own + quantum - 1) / quantum;
    uint64_t wait = mine || e->current >= e->high
                        ? 0 : least(wanted(&e->queues[e->current]), rest);
    bool before = true; /* gets as many turns as we, else one less */
    for (uint32_t i = 1; i <= e->high && turns > 0; i++) {
        uint32_t other = (e->current + i) % e->high;
        if (other == (uint32_t)index) {
            before = false;
            continue;
        }
        if (vf_paging_waits(card, other))
            continue;
        uint64_t share = (before || mine ? turns : turns - 1) * quantum;
        wait += least(wanted(&e->queues[other]), share);
    }
    return e->time_ns + work + wait;
}

void vf_advance(struct vf_card *card)
{
    uint64_t now = vf_now_ns();
    vf_lock(card);
    vf_advance_to(card, now);
    vf_unlock(card);
}
