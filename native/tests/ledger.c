/*
 * Drives the accounting without any OpenCL: the sources of libvxpu are
 * linked in. Usage: ledger <command> [args]; the region by VXPU_REGION_DIR.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "memory.h"
#include "session.h"

struct board {
    _Atomic unsigned arrived, won;
    _Atomic unsigned over, lonely;
};

static void barrier(struct board *b, unsigned procs, unsigned *turn)
{
    unsigned goal = ++*turn * procs;
    atomic_fetch_add(&b->arrived, 1);
    while (atomic_load(&b->arrived) < goal)
        sched_yield();
}

/* Every process asks for `bytes` at once; counts rounds without a winner. */
static void race(struct board *b, unsigned procs, unsigned rounds,
                 uint64_t bytes, uint64_t limit, bool leader)
{
    unsigned turn = 0;
    vx_session_open();
    for (unsigned i = 0; i < rounds; i++) {
        barrier(b, procs, &turn);
        bool got = vx_session_reserve(0, VX_MEMORY_DEVICE, bytes);
        if (got && atomic_fetch_add(&b->won, 1) + 1 > limit / bytes)
            atomic_fetch_add(&b->over, 1);
        barrier(b, procs, &turn);
        if (leader && atomic_load(&b->won) == 0)
            atomic_fetch_add(&b->lonely, 1);
        if (leader)
            atomic_store(&b->won, 0);
        if (got)
            vx_session_refund(0, VX_MEMORY_DEVICE, bytes);
        barrier(b, procs, &turn);
    }
}

static int run_race(char **arg)
{
    unsigned procs = (unsigned)atoi(arg[0]), rounds = (unsigned)atoi(arg[1]);
    uint64_t bytes = strtoull(arg[2], NULL, 10);
    struct board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < procs; i++) {
        if (fork() != 0)
            continue;
        if (!vx_session_open())
            return 1;
        race(b, procs, rounds, bytes,
             atomic_load(&vx_session_limits(0)->limit_bytes), i == 0);
        return 0;
    }
    while (wait(NULL) > 0)
        ;
    printf("over=%u lonely=%u\n", b->over, b->lonely);
    return 0;
}

static int reserve(char **arg)
{
    bool got = vx_session_reserve(0, VX_MEMORY_DEVICE, strtoull(arg[0], NULL, 10));
    printf("got=%d free=%llu\n", got,
           (unsigned long long)vx_session_free_bytes(0));
    return 0;
}

/* Reserves, says so, waits for a line. */
static int hold(char **arg)
{
    char line[8];
    reserve(arg);
    fflush(stdout);
    return fgets(line, sizeof line, stdin) ? 0 : 1;
}

/* Closes every descriptor but the first three, as daemons do. */
static int close_all(char **arg)
{
    reserve(arg);
    fflush(stdout);
    closefrom(3);
    char line[8];
    if (!fgets(line, sizeof line, stdin))
        return 1;
    return reserve(arg);
}

/* The parent dies at once; its child lives on and reserves on its own. */
static int orphan(char **arg)
{
    reserve(arg);
    fflush(stdout);
    if (fork() != 0)
        return 0;
    puts("orphaned");
    fflush(stdout);
    char line[8];
    if (!fgets(line, sizeof line, stdin))
        return 1;
    if (vx_session_open())
        reserve(arg + 1);
    return 0;
}

static void *reserve_often(void *rounds)
{
    for (unsigned i = 0; i < *(unsigned *)rounds; i++) {
        uint64_t bytes = 4096 * (1 + i % 7);
        if (vx_session_reserve(0, VX_MEMORY_DEVICE, bytes))
            vx_session_refund(0, VX_MEMORY_DEVICE, bytes);
    }
    return NULL;
}

/* Four threads near the limit: in the end nothing is left over. */
static int threads(char **arg)
{
    pthread_t t[4];
    unsigned rounds = (unsigned)atoi(arg[0]);
    uint64_t before = vx_session_free_bytes(0);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, reserve_often, &rounds);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    printf("left=%lld\n", (long long)(before - vx_session_free_bytes(0)));
    return 0;
}

static int bench(char **arg)
{
    unsigned n = (unsigned)atoi(arg[0]);
    uint64_t start = vx_now_ns();
    for (unsigned i = 0; i < n; i++)
        if (vx_session_reserve(0, VX_MEMORY_DEVICE, 4096))
            vx_session_refund(0, VX_MEMORY_DEVICE, 4096);
    printf("ns=%llu\n", (unsigned long long)((vx_now_ns() - start) / n));
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(char **);
        int args;
    } commands[] = {{"race", run_race, 3}, {"reserve", reserve, 1},
                    {"hold", hold, 1},     {"close", close_all, 1},
                    {"orphan", orphan, 2}, {"bench", bench, 1},
                    {"threads", threads, 1}};
    for (unsigned i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (argc < 2 || strcmp(argv[1], commands[i].name) != 0 ||
            argc - 2 < commands[i].args)
            continue;
        if (strcmp(argv[1], "race") != 0 && !vx_session_open())
            return 3;
        return commands[i].run(argv + 2);
    }
    return 2;
}
