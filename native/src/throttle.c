#include "throttle.h"

#include <stdatomic.h>

#include "log.h"

/* A debt beyond ten minutes of a 64-CPU device is rubbish, not a debt. */
static const int64_t FLOOR_NS = -600LL * 64 * 1000000000LL;
/* Not worth two atomic writes while there is budget. */
static const uint64_t SHORT_NS = 200000;
/* A refill stamp this far ahead of now was not written by this library. */
static const uint64_t FUTURE_NS = 1000000000ULL;

/* Permille x CPUs: device nanoseconds earned in a thousand of wall time. */
static uint64_t rate(const struct vx_bucket *b, uint64_t now)
{
    uint64_t share = atomic_load(&b->limits->share_permille);
    /* What is lent ends by itself; a closed gate (0) is not opened by it. */
    if (share && now < atomic_load(&b->limits->lend_until_ns))
        share += atomic_load(&b->limits->lend_permille);
    uint64_t units = atomic_load(&b->limits->compute_units);
    if (share > 1000)
        share = 1000;
    if (units > 4096)
        units = 4096;
    return share * (units ? units : 1);
}

int64_t vx_bucket_earned(const struct vx_bucket *b, uint64_t ns, uint64_t now)
{
    const uint64_t most = 1000ULL * 1000000000ULL;
    return (int64_t)((ns > most ? most : ns) * rate(b, now) / 1000);
}

/* Never below the floor, whatever stood there before. */
static void add(vx_i64 *budget, int64_t amount, int64_t floor)
{
    int64_t seen = atomic_load(budget), want;
    do {
        int64_t base = seen < floor ? floor : seen;
        want = base + amount;
        if (want < floor)
            want = floor;
    } while (!atomic_compare_exchange_weak(budget, &seen, want));
}

static void add_budget(const struct vx_bucket *b, int64_t ns)
{
    add(&b->usage->budget_ns, ns, FLOOR_NS);
}

void vx_bucket_debit(const struct vx_bucket *b, int64_t ns)
{
    add_budget(b, -ns);
    atomic_fetch_add(&b->usage->debited_ns, ns);
}

/*
 * Time that the agent's own meter saw and no process of ours debited. The
 * total never falls; a smaller one is a region made anew, not a gift.
 */
static void fold_agent_debit(const struct vx_bucket *b)
{
    int64_t total = atomic_load(&b->limits->agent_debit_ns);
    int64_t seen = atomic_load(&b->usage->agent_debit_seen_ns);
    if (total != seen &&
        atomic_compare_exchange_strong(&b->usage->agent_debit_seen_ns, &seen,
                                       total) && total > seen)
        add_budget(b, seen - total);
}

/* One step: the winner of the stamp adds its share, capped at the burst. */
static void pour(const struct vx_bucket *b, uint64_t last, uint64_t step,
                 uint64_t now)
{
    if (!atomic_compare_exchange_strong(&b->usage->last_refill_ns, &last,
                                        last + step))
        return;
    VX_CRASH("refill.won");
    int64_t cap = vx_bucket_earned(b, VX_BURST_NS, now);
    int64_t room = cap - atomic_load(&b->usage->budget_ns);
    int64_t gain = vx_bucket_earned(b, step, now);
    if (gain > room)
        gain = room;
    if (gain > 0)
        add_budget(b, gain);
}

uint64_t vx_bucket_held_ns(const struct vx_bucket *b, uint64_t now)
{
    /* The agent writes them the other way round: never a hold too many. */
    uint64_t until = atomic_load(&b->limits->hold_until_ns);
    uint64_t from = atomic_load(&b->limits->hold_from_ns);
    return from <= now && now < until ? until - now : 0;
}

/*
 * How much of [last, now) is to be looked at next: up to where a hold begins,
 * or (`earns` false) up to where the gate earns again.
 */
static uint64_t next_part(const struct vx_bucket *b, uint64_t last,
                          uint64_t now, bool *earns)
{
    uint64_t until = atomic_load(&b->limits->hold_until_ns);
    uint64_t from = atomic_load(&b->limits->hold_from_ns);
    *earns = true;
    if (until < VX_HOLD_EARNS_NS || until - VX_HOLD_EARNS_NS <= from)
        return now - last;
    until -= VX_HOLD_EARNS_NS;
    if (last >= until || now <= from)
        return now - last;
    /* A piece too short to earn anything would stop the clock. */
    if (last + SHORT_NS < from)
        return from - last;
    *earns = false;
    return (now < until ? now : until) - last;
}

int64_t vx_bucket_refill(const struct vx_bucket *b, uint64_t now)
{
    fold_agent_debit(b);
    int64_t cap = vx_bucket_earned(b, VX_BURST_NS, now);
    for (;;) {
        uint64_t last = atomic_load(&b->usage->last_refill_ns);
        if (last == 0 || last > now + FUTURE_NS) {
            /* First use ever, or rubbish: start one burst ago. */
            uint64_t start = now > VX_BURST_NS ? now - VX_BURST_NS : 1;
            atomic_compare_exchange_strong(&b->usage->last_refill_ns, &last,
                                           start);
            continue;
        }
        if (last >= now)
            break;
        bool earns;
        uint64_t step = next_part(b, last, now, &earns);
        if (!earns) {
            atomic_compare_exchange_strong(&b->usage->last_refill_ns, &last,
                                           last + step);
            continue;
        }
        if (step < SHORT_NS && atomic_load(&b->usage->budget_ns) > 0)
            break;
        /*
         * Steps of at most a burst: a process that dies between winning the
         * stamp and pouring loses 20 ms of share, not a whole debt's worth.
         */
        if (step > VX_BURST_NS && atomic_load(&b->usage->budget_ns) < cap)
            step = VX_BURST_NS;
        /* Too short to earn a nanosecond: taken, it would be lost. */
        if (vx_bucket_earned(b, step, now) == 0 && rate(b, now) != 0)
            break;
        pour(b, last, step, now);
    }
    int64_t budget = atomic_load(&b->usage->budget_ns);
    return budget > cap ? cap : budget;
}

uint64_t vx_bucket_wait_ns(const struct vx_bucket *b, int64_t budget,
                           uint64_t now)
{
    if (atomic_load(&b->limits->pause) != 0)
        return VX_GATE_CLOSED;
    uint64_t per_thousand = rate(b, now);
    if (per_thousand == 0)
        return VX_GATE_CLOSED;
    uint64_t held = vx_bucket_held_ns(b, now);
    if (held || budget > 0)
        return held;
    uint64_t debt = (uint64_t)(budget < FLOOR_NS ? -FLOOR_NS : -budget);
    return (debt + 1) * 1000 / per_thousand + 1;
}

/* A terabyte of debt is rubbish. */
static const int64_t COPY_FLOOR_BYTES = -(1LL << 40);

static uint64_t copy_rate(const struct vx_bucket *b)
{
    uint64_t rate_limit = atomic_load(&b->limits->copy_bytes_per_second);
    const uint64_t most = 1ULL << 42;
    return rate_limit > most ? most : rate_limit;
}

static int64_t copy_earned(const struct vx_bucket *b, uint64_t ns)
{
    return (int64_t)((unsigned __int128)copy_rate(b) * ns / 1000000000U);
}

bool vx_copy_is_limited(const struct vx_bucket *b)
{
    return copy_rate(b) != 0;
}

int64_t vx_copy_refill(const struct vx_bucket *b, uint64_t now)
{
    vx_u64 *stamp = &b->usage->copy_last_refill_ns;
    uint64_t last = atomic_load(stamp);
    int64_t cap = copy_earned(b, VX_BURST_NS);
    if (last == 0 || last > now + FUTURE_NS) {
        /* First use ever, or rubbish: start with one burst. */
        if (atomic_compare_exchange_strong(stamp, &last, now))
            atomic_store(&b->usage->copy_budget_bytes, cap);
    } else if (last < now && (now - last >= SHORT_NS ||
                              atomic_load(&b->usage->copy_budget_bytes) <= 0)) {
        /* Too short to earn a byte: taken, it would be lost. */
        if (copy_earned(b, now - last) > 0 &&
            atomic_compare_exchange_strong(stamp, &last, now)) {
            int64_t room = cap - atomic_load(&b->usage->copy_budget_bytes);
            int64_t gain = copy_earned(b, now - last);
            if (gain > room)
                gain = room;
            if (gain > 0)
                add(&b->usage->copy_budget_bytes, gain, COPY_FLOOR_BYTES);
        }
    }
    return atomic_load(&b->usage->copy_budget_bytes);
}

void vx_copy_debit(const struct vx_bucket *b, uint64_t bytes)
{
    const uint64_t most = 1ULL << 40;
    int64_t amount = (int64_t)(bytes > most ? most : bytes);
    add(&b->usage->copy_budget_bytes, -amount, COPY_FLOOR_BYTES);
    atomic_fetch_add(&b->usage->copied_bytes, bytes);
}

uint64_t vx_copy_wait_ns(const struct vx_bucket *b, int64_t budget)
{
    uint64_t per_second = copy_rate(b);
    if (budget > 0 || per_second == 0)
        return 0;
    uint64_t debt = budget < COPY_FLOOR_BYTES ? (uint64_t)-COPY_FLOOR_BYTES
                                              : (uint64_t)-budget;
    return (uint64_t)((unsigned __int128)(debt + 1) * 1000000000U /
                      per_second) + 1;
}
