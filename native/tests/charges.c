/*
 * The map of charges under many threads: every object is bound, retained,
 * held, released and taken at once by all, contexts end in between, and a
 * fork's child must find it empty. In the end nothing is charged.
 *   charges THREADS ROUNDS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "charges.h"
#include "session.h"

enum { KEYS = 32, OWNERS = 4 };

static unsigned roll(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

/* A handle of one granule, with a mapping that outlives it. */
static void make(unsigned *seed, uint64_t key)
{
    struct vx_charge *backing = vx_charge_make(0, VX_MEMORY_DEVICE, 4096);
    struct vx_charge *handle = backing ? vx_charge_known() : NULL;
    if (!handle)
        return;
    handle->backing = backing;
    handle->owner = roll(seed, OWNERS);
    vx_charge_bind(handle, VX_SPACE_HANDLE, key);
    struct vx_charge *map = vx_charge_known(), *array = vx_charge_known();
    map->backing = vx_charge_backing(VX_SPACE_HANDLE, key);
    vx_charge_bind(map, VX_SPACE_MAPPING, key);
    vx_charge_bind(array, VX_SPACE_ARRAY, key);
}

static void step(unsigned *seed)
{
    struct vx_charge *last, copy;
    uint64_t key = 1 + roll(seed, KEYS), other = 1 + roll(seed, KEYS);
    switch (roll(seed, 7)) {
    case 0:
    case 1:
        make(seed, key);
        break;
    case 2:
        vx_charge_retain(VX_SPACE_HANDLE, key);
        break;
    case 3:
        vx_charge_release(VX_SPACE_HANDLE, key, &last);
        vx_charge_drop(last);
        break;
    case 4:
        vx_charge_drop(vx_charge_take(VX_SPACE_MAPPING, key));
        break;
    case 5:
        vx_charge_drop_owned(roll(seed, 200)); /* seldom one that is used */
        break;
    default:
        if ((last = vx_charge_backing(VX_SPACE_HANDLE, key)))
            vx_charge_hold(VX_SPACE_ARRAY, other, last);
        vx_charge_look(VX_SPACE_HANDLE, other, &copy);
    }
}

struct work {
    pthread_t thread;
    unsigned seed;
    long rounds;
};

static void *run(void *arg)
{
    struct work *w = arg;
    for (long i = 0; i < w->rounds; i++)
        step(&w->seed);
    return NULL;
}

static int child_is_empty(void)
{
    struct vx_charge copy;
    pid_t pid = fork();
    int status = 1;
    if (pid == 0) {
        for (uint64_t key = 1; key <= KEYS; key++)
            if (vx_charge_look(VX_SPACE_MAPPING, key, &copy))
                _exit(1);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return status == 0;
}

static void take_all(void)
{
    for (uint64_t key = 1; key <= KEYS; key++) {
        struct vx_charge *last = NULL;
        while (!last && vx_charge_release(VX_SPACE_HANDLE, key, &last))
            ;
        vx_charge_drop(last);
        vx_charge_drop(vx_charge_take(VX_SPACE_MAPPING, key));
        vx_charge_drop(vx_charge_take(VX_SPACE_ARRAY, key));
    }
}

int main(int argc, char **argv)
{
    struct work work[16];
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    if (!vx_session_open())
        return 3;
    for (int i = 0; i < threads; i++) {
        work[i] = (struct work){.seed = (unsigned)i + 1,
                                .rounds = argc > 2 ? atol(argv[2]) : 1000};
        pthread_create(&work[i].thread, NULL, run, &work[i]);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(work[i].thread, NULL);
    int empty = child_is_empty();
    take_all();
    printf("left=%llu empty=%d\n",
           (unsigned long long)vx_session_used_bytes(0), empty);
    return 0;
}
