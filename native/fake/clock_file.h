/* The shared file of a folder's clock. */
#ifndef VXPU_FAKE_CLOCK_FILE_H
#define VXPU_FAKE_CLOCK_FILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define VF_CLOCK_MAGIC 0x314b4c4346585856ULL
#define VF_SLEEPERS 2048
#define VF_CLOCK_START_NS 1000000000000ULL /* 0 means "never" to many */

enum state { FREE, RUNNING, SLEEPING, PARKED };

/* One thread; its process holds a lock on byte = its index of the file. */
struct sleeper {
    _Atomic uint32_t state;
    _Atomic uint32_t word; /* futex: changes at each wake-up */
    uint64_t wake_ns;
    int32_t pid, tid;
    uint32_t pinned;   /* joined by hand: never parked by others */
    uint32_t quiet;    /* checks in a row that found it asleep elsewhere */
    uint64_t switches; /* its context switches at the last check */
};

struct clock_file {
    uint64_t magic;
    uint64_t kind;
    pthread_mutex_t lock;
    _Atomic uint64_t now_ns;
    _Atomic uint64_t checked_ns; /* CLOCK_MONOTONIC */
    uint32_t high;               /* entries in use are below */
    uint32_t running;            /* sleepers in state RUNNING */
    struct sleeper sleepers[VF_SLEEPERS];
};

#endif
