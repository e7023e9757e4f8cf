/*
 * The pure parts of a card's gate: means of costs and the union of busy
 * intervals. Prints one "name=value" a line.
 */
#include <stdio.h>

#include "cu_cost.h"
#include "cu_span.h"

static long long mean(uint64_t key)
{
    int64_t ns;
    return vx_cost_get(key, &ns) ? (long long)ns : -1;
}

static void costs(void)
{
    static int functions[2];
    uint64_t key = vx_cost_key(&functions[0], 1000, 256);
    printf("unknown=%lld\n", mean(key));
    /* Long-tailed: the mean is 40,000, the median 10,000. */
    for (int i = 0; i < 4000; i++)
        vx_cost_learn(key, i % 4 == 3 ? 130000 : 10000, 1);
    printf("mean=%lld\n", mean(key));
    for (int i = 0; i < 60; i++)
        vx_cost_learn(key, 5000, 1);
    printf("drifted=%d\n", mean(key) > 4500 && mean(key) < 7500);
    vx_cost_learn(key, 0, 1);
    printf("same_shape=%d\n", key == vx_cost_key(&functions[0], 600, 300));
    printf("other_shape=%d\n", key == vx_cost_key(&functions[0], 100000, 256));
    printf("other_function=%d\n", key == vx_cost_key(&functions[1], 1000, 256));
    vx_cost_forget(key);
    printf("forgotten=%lld\n", mean(key));
    vx_cost_learn(key, 7000, 10);
    printf("fresh=%lld\n", mean(key));
    /* 2^31 x 65535 x 65535 blocks, as a grid may ask for: just a large one. */
    uint64_t most = 0x7fffffffULL * 65535 * 65535;
    printf("overflow=%d\n",
           vx_cost_key(&functions[0], most, 1ULL << 32) == key);
}

/* Times on one axis; the zero moves on with the busy block's end. */
static long long busy(const int (*pairs)[2], int count)
{
    struct vx_span span = {0};
    int64_t zero = 0, moved, sum = 0;
    for (int i = 0; i < count; i++) {
        sum += vx_span_add(&span, pairs[i][0] - zero, pairs[i][1] - zero,
                           &moved);
        zero += moved;
    }
    return (long long)sum;
}

static void spans(void)
{
    static const int apart[][2] = {{10, 20}, {30, 45}};
    static const int chained[][2] = {{10, 20}, {20, 45}};
    static const int side_by_side[][2] = {{10, 30}, {15, 45}};
    static const int inside[][2] = {{10, 40}, {15, 25}, {12, 40}};
    static const int late[][2] = {{50, 60}, {10, 30}};
    static const int around[][2] = {{20, 30}, {10, 40}};
    static const int into[][2] = {{20, 30}, {10, 25}};
    static const int backwards[][2] = {{20, 10}};
    printf("apart=%lld\n", busy(apart, 2));
    printf("chained=%lld\n", busy(chained, 2));
    printf("side_by_side=%lld\n", busy(side_by_side, 2));
    printf("inside=%lld\n", busy(inside, 3));
    printf("late=%lld\n", busy(late, 2));
    printf("around=%lld\n", busy(around, 2));
    printf("into=%lld\n", busy(into, 2));
    printf("backwards=%lld\n", busy(backwards, 1));
}

int main(void)
{
    costs();
    spans();
    return 0;
}
