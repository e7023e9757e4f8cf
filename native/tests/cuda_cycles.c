/*
 * Memory taken and given back many times, judged by the program itself:
 *   cuda_cycles pools N     stream-ordered, two devices, mixed pools/streams
 *   cuda_cycles race P N B  P processes ask B bytes at a barrier, N rounds
 *   cuda_cycles crash N     each class in turn (for named deaths)
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_calls.h"

enum { DEVICES = 2, POOLS = 4, STREAMS = 4, HELD = 64 };

static CUcontext context[DEVICES];
static unsigned seed = 1;

static unsigned roll(unsigned below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static void must(CUresult err)
{
    if (err != CUDA_SUCCESS) {
        fprintf(stderr, "error %d\n", (int)err);
        exit(4);
    }
}

static size_t free_on(int device)
{
    size_t free, total;
    must(cuCtxSetCurrent(context[device]));
    must(cuMemGetInfo_v2(&free, &total));
    return free;
}

struct held {
    CUdeviceptr at;
    CUstream stream;
};

static CUmemoryPool pools[POOLS];
static CUstream streams[STREAMS];

static void open_all(int devices)
{
    must(cuInit(0));
    for (int d = 0; d < devices; d++) {
        must(cuDevicePrimaryCtxRetain(&context[d], d));
        must(cuCtxSetCurrent(context[d]));
        CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED};
        props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        props.location.id = d;
        for (int i = d; i < POOLS; i += DEVICES) {
            must(cuMemPoolCreate(&pools[i], &props));
            must(cuStreamCreate(&streams[i], 1));
        }
    }
}

static CUresult allocate(struct held *h, int device)
{
    size_t bytes = 1 + roll(1 << 20);
    int pool = device + DEVICES * (int)roll(3);
    h->stream = streams[device + DEVICES * (int)roll(2)];
    if (pool < POOLS)
        return cuMemAllocFromPoolAsync(&h->at, bytes, pools[pool], h->stream);
    return cuMemAllocAsync(&h->at, bytes, h->stream);
}

static int run_pools(long cycles)
{
    static struct held held[HELD];
    size_t before[DEVICES];
    long refused = 0, left = 0, wrong = 0;
    open_all(DEVICES);
    for (int d = 0; d < DEVICES; d++)
        before[d] = free_on(d);
    for (long i = 0; i < cycles + HELD; i++) {
        struct held *h = &held[i % HELD];
        if (h->at)
            must(cuMemFreeAsync(h->at, h->stream));
        h->at = 0;
        if (roll(8) == 0) /* so that another device is current at the free */
            must(cuCtxSetCurrent(context[roll(DEVICES)]));
        if (i < cycles && allocate(h, (int)roll(DEVICES)) != CUDA_SUCCESS)
            refused++;
        if (i % 256 == 0)
            must(cuCtxSynchronize());
    }
    for (int d = 0; d < DEVICES; d++) {
        left += free_on(d) < before[d];
        wrong += free_on(d) > before[d];
    }
    printf("cycles=%ld refused=%ld wrong_device=%ld left=%ld\n", cycles,
           refused, wrong, left);
    return 0;
}

/* Between processes: a barrier and what each round came to. */
struct meeting {
    pthread_barrier_t barrier;
    atomic_long winners, over, lonely;
};

static void race_once(struct meeting *m, bool first, size_t bytes, size_t limit)
{
    CUdeviceptr at = 0;
    pthread_barrier_wait(&m->barrier);
    bool won = cuMemAlloc_v2(&at, bytes) == CUDA_SUCCESS;
    if (won)
        atomic_fetch_add(&m->winners, 1);
    pthread_barrier_wait(&m->barrier);
    if (first) {
        long winners = atomic_exchange(&m->winners, 0);
        m->over += (size_t)winners * bytes > limit;
        m->lonely += winners == 0;
    }
    if (won)
        must(cuMemFree_v2(at));
}

static int race_child(struct meeting *m, bool first, long rounds, size_t bytes)
{
    size_t free, limit;
    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&context[0], 0));
    must(cuCtxSetCurrent(context[0]));
    must(cuMemGetInfo_v2(&free, &limit));
    for (long i = 0; i < rounds; i++)
        race_once(m, first, bytes, limit);
    return 0;
}

static int run_race(int processes, long rounds, size_t bytes)
{
    struct meeting *m = mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t attr;
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&m->barrier, &attr, (unsigned)processes);
    for (int i = 0; i < processes; i++)
        if (fork() == 0)
            _exit(race_child(m, i == 0, rounds, bytes));
    int bad = 0, status;
    while (wait(&status) > 0)
        bad += status != 0;
    printf("over=%ld lonely=%ld bad=%d\n", m->over, m->lonely, bad);
    return 0;
}

/* Two that do not both fit into the guaranteed part. */
static void cycle_plain(void)
{
    CUdeviceptr first = 0, second = 0;
    cuMemAlloc_v2(&first, 10 << 20);
    cuMemAlloc_v2(&second, 10 << 20);
    if (first)
        must(cuMemFree_v2(first));
    if (second)
        must(cuMemFree_v2(second));
}

static void cycle_handles(void)
{
    CUmemGenericAllocationHandle h;
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
    CUdeviceptr at;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    if (cuMemCreate(&h, 2 << 20, &prop, 0) != CUDA_SUCCESS)
        return;
    must(cuMemAddressReserve(&at, 2 << 20, 0, 0, 0));
    must(cuMemMap(at, 2 << 20, 0, h, 0));
    must(cuMemRelease(h));
    must(cuMemUnmap(at, 2 << 20));
    must(cuMemAddressFree(at, 2 << 20));
}

static void cycle_pool(void)
{
    cuuint64_t keep = 1 << 20;
    CUdeviceptr at;
    must(cuMemPoolSetAttribute(pools[0], CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                               &keep));
    if (cuMemAllocFromPoolAsync(&at, 2 << 20, pools[0], streams[0]) ==
        CUDA_SUCCESS)
        must(cuMemFreeAsync(at, streams[0]));
    must(cuCtxSynchronize());
    must(cuMemPoolTrimTo(pools[0], 0));
}

static void cycle_graph(void)
{
    CUgraph g;
    CUgraphNode node;
    CUgraphExec exec;
    CUDA_MEM_ALLOC_NODE_PARAMS p = {.bytesize = 1 << 20};
    p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    must(cuGraphCreate(&g, 0));
    must(cuGraphAddMemAllocNode(&node, g, NULL, 0, &p));
    if (cuGraphInstantiateWithFlags(&exec, g, 0) == CUDA_SUCCESS)
        must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(g));
}

static void cycle_contexts(void)
{
    CUcontext own;
    if (cuCtxCreate_v2(&own, 0, 0) == CUDA_SUCCESS)
        must(cuCtxDestroy_v2(own));
    must(cuCtxSetCurrent(context[0]));
    cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 9 << 20);
    cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20);
}

static int run_crash(long cycles)
{
    open_all(1);
    for (long i = 0; i < cycles; i++) {
        cycle_plain();
        cycle_handles();
        cycle_pool();
        cycle_graph();
        cycle_contexts();
    }
    must(cuDevicePrimaryCtxRelease_v2(0));
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "pools") == 0)
        return run_pools(atol(argv[2]));
    if (strcmp(what, "race") == 0)
        return run_race(atoi(argv[2]), atol(argv[3]), strtoull(argv[4], 0, 0));
    if (strcmp(what, "crash") == 0)
        return run_crash(atol(argv[2]));
    return 2;
}
