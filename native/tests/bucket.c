/*
 * The time-debt bucket on a virtual clock: no sleeping, exact figures.
 * Prints one "name=value" a line.
 */
#include <stdio.h>
#include <string.h>

#include "throttle.h"

static struct vx_limits_device limits;
static struct vx_usage_device usage;
static const struct vx_bucket bucket = {&limits, &usage};

static void reset(uint64_t share)
{
    memset(&limits, 0, sizeof limits);
    memset(&usage, 0, sizeof usage);
    limits.share_permille = share;
    limits.compute_units = 2;
    limits.gain_ppm = 1000000;
}

/* Share of the device got by back-to-back work of cost_ns CPU time each. */
static long run(uint64_t cost_ns, uint64_t wall_ns)
{
    uint64_t start = 1000000000, now = start, done = 0;
    while (now < start + wall_ns) {
        uint64_t wait = vx_bucket_wait_ns(&bucket,
                                          vx_bucket_refill(&bucket, now), now);
        if (wait > 0) {
            now += wait;
            continue;
        }
        vx_bucket_debit(&bucket, (int64_t)cost_ns);
        now += cost_ns / 2;
        done += cost_ns;
    }
    return (long)(done * 1000 / 2 / (now - start));
}

static void shares(void)
{
    static const uint64_t costs[] = {200000, 10000000, 600000000};
    for (int i = 0; i < 3; i++) {
        reset(100);
        printf("share100_%d=%ld\n", i, run(costs[i], 200000000000));
        reset(750);
        printf("share750_%d=%ld\n", i, run(costs[i], 200000000000));
    }
}

static void resizes(void)
{
    reset(100);
    vx_bucket_refill(&bucket, 1000000000);
    vx_bucket_debit(&bucket, 1000000000);
    int64_t debt = vx_bucket_refill(&bucket, 1000000000);
    uint64_t slow = vx_bucket_wait_ns(&bucket, debt, 1000000000);
    limits.share_permille = 1000;
    printf("faster=%d\n", (int)(slow / vx_bucket_wait_ns(&bucket, debt, 1000000000)));
    limits.share_permille = 0;
    printf("closed=%d\n", vx_bucket_wait_ns(&bucket, 1, 1000000000) == VX_GATE_CLOSED);
    limits.share_permille = 100;
    limits.pause = 1;
    printf("paused=%d\n", vx_bucket_wait_ns(&bucket, 1, 1000000000) == VX_GATE_CLOSED);
}

static void agent(void)
{
    reset(500);
    int64_t before = vx_bucket_refill(&bucket, 1000000000);
    limits.agent_debit_ns = 5000000;
    int64_t after = vx_bucket_refill(&bucket, 1000000000);
    printf("agent=%lld\n", (long long)(before - after));
    after -= vx_bucket_refill(&bucket, 1000000000);
    limits.agent_debit_ns = 1000000;
    printf("agent_again=%lld\n", (long long)after);
}

static void rubbish(void)
{
    reset(500);
    usage.budget_ns = INT64_MIN;
    usage.last_refill_ns = UINT64_MAX;
    vx_bucket_refill(&bucket, 1000000000);
    uint64_t wait = vx_bucket_wait_ns(&bucket, usage.budget_ns,
                                      1000000000);
    printf("bounded=%d\n", wait < VX_GATE_CLOSED && wait > 0);
    printf("stamp=%d\n", usage.last_refill_ns == 1000000000);
    reset(100);
    vx_bucket_refill(&bucket, 1000000000);
    vx_bucket_refill(&bucket, 900000000000);
    printf("burst_ms=%lld\n", (long long)(usage.budget_ns / 1000000));
}

/* Turns of 388 ms in a second at 700 permille, held in between: 400 earned. */
static void holds(void)
{
    uint64_t done = 0, last = 0, now = 1000000000, end = 21000000000;
    reset(300);
    limits.compute_units = 1;
    limits.lend_permille = 400;
    while (now < end) {
        uint64_t begun = now / 1000000000 * 1000000000;
        limits.hold_from_ns = begun + 388000000;
        limits.hold_until_ns = begun + 1000000000;
        limits.lend_until_ns = limits.hold_from_ns;
        uint64_t wait = vx_bucket_wait_ns(&bucket,
                                          vx_bucket_refill(&bucket, now), now);
        if (wait == 0) {
            vx_bucket_debit(&bucket, 1000000);
            done += 1000000;
            last = now % 1000000000 > last ? now % 1000000000 : last;
            wait = 1000000;
        }
        now += wait < 20000000 ? wait : 20000000; /* a waiter looks again */
    }
    printf("held_permille=%llu\n",
           (unsigned long long)(done * 1000 / (end - 1000000000)));
    printf("held_last_ms=%llu\n", (unsigned long long)(last / 1000000));
    now = end - 1 + 600000000;
    limits.hold_from_ns = now - 1;
    limits.hold_until_ns = now + 5;
    printf("held_wait=%llu\n",
           (unsigned long long)vx_bucket_wait_ns(&bucket, 1, now));
}

int main(void)
{
    holds();
    shares();
    resizes();
    agent();
    rubbish();
    return 0;
}
