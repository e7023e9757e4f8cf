#ifndef VXPU_CLOCK_H
#define VXPU_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t vx_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

/* May return early on a signal; every caller looks again anyway. */
static inline void vx_sleep_ns(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000ULL),
                         (long)(ns % 1000000000ULL)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, 0);
}

#endif
