#ifndef VXPU_CLOCK_H
#define VXPU_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t vx_clock_monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static inline void vx_clock_nap_ns(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000ULL),
                         (long)(ns % 1000000000ULL)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, 0);
}

#ifdef VX_TESTING
/* A simulated card may have a clock of its own; the resolver sets these. */
extern uint64_t (*vx_clock_now)(void);
extern void (*vx_clock_sleep)(uint64_t ns);
#define vx_now_ns() vx_clock_now()
/* May return early on a signal; every caller looks again anyway. */
#define vx_sleep_ns(ns) vx_clock_sleep(ns)
#else
#define vx_now_ns() vx_clock_monotonic_ns()
#define vx_sleep_ns(ns) vx_clock_nap_ns(ns)
#endif

#endif
