/*
 * Many threads of a program at once, as a careless framework has them: each
 * allocates, frees, launches, captures, resets. Any code of the driver's is
 * right as long as nothing crashes, hangs or stays charged.
 *   cuda_crowd PATTERN [THREADS] [ROUNDS]
 * Prints "PATTERN ended".
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_calls.h"
#include "kernels.h"

static CUcontext context;
static __thread CUfunction spin; /* of the context as it is now */
static CUfunction shared_spin;
static unsigned long rounds = 100;
static char *far_end = (char *)-4096;

static void must(CUresult err, const char *what)
{
    if (err == CUDA_SUCCESS)
        return;
    fprintf(stderr, "%s: %d\n", what, (int)err);
    exit(4);
}

static void prepare(void)
{
    CUmodule module;
    must(cuInit(0), "init");
    must(cuDevicePrimaryCtxRetain(&context, 0), "retain");
    must(cuCtxSetCurrent(context), "current");
    must(cuModuleLoadData(&module, vx_test_kernels), "load");
    must(cuModuleGetFunction(&shared_spin, module, "vx_spin"), "function");
    spin = shared_spin;
}

static CUresult launch(CUstream s)
{
    uint64_t ns = 1000;
    void *params[] = {&ns};
    return cuLaunchKernel(spin, 1, 1, 1, 32, 1, 1, 0, s, params, NULL);
}

static void memory(unsigned long i)
{
    CUdeviceptr p = 0, q = 0;
    CUmemoryPool pool = NULL;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED};
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    if (cuMemAlloc_v2(&p, 4096 + i % 7 * 700000) == CUDA_SUCCESS)
        must(cuMemFree_v2(p), "free");
    if (cuMemAllocAsync(&q, 65536, NULL) == CUDA_SUCCESS)
        must(cuMemFreeAsync(q, NULL), "free async");
    must(cuMemPoolCreate(&pool, &props), "pool");
    if (cuMemAllocFromPoolAsync(&q, 3 << 20, pool, NULL) == CUDA_SUCCESS && i % 2)
        must(cuMemFreeAsync(q, NULL), "free from pool");
    must(cuMemPoolDestroy(pool), "pool with a live block");
    if (i % 2 == 0)
        cuMemFreeAsync(q, NULL);
}

static void capture(CUstream s)
{
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    must(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED), "capture");
    for (int i = 0; i < 4; i++)
        must(launch(s), "captured launch");
    must(cuStreamEndCapture(s, &graph), "end of capture");
    must(cuGraphInstantiateWithFlags(&exec, graph, 0), "instantiate");
    must(cuGraphLaunch(exec, s), "graph launch");
    must(cuGraphExecDestroy(exec), "exec destroy in flight");
    must(cuGraphDestroy(graph), "graph destroy");
}

static void *all_at_once(void *number)
{
    CUstream s = NULL;
    uintptr_t n = (uintptr_t)number;
    must(cuCtxSetCurrent(context), "current");
    spin = shared_spin;
    for (unsigned long i = n; i < n + rounds; i++) {
        must(cuStreamCreate(&s, 1), "stream");
        must(launch(s), "launch");
        must(launch(NULL), "launch on the default stream");
        must(cuLaunchKernel_ptsz(spin, 1, 1, 1, 1, 1, 1, 0, NULL,
                                 (void *[]){&(uint64_t){500}}, NULL), "ptsz");
        memory(i);
        if (i % 3 == 0)
            capture(s);
        if (i % 5 == 0)
            must(cuStreamSynchronize(s), "synchronize");
        must(cuStreamDestroy_v2(s), "destroy in flight");
    }
    return NULL;
}

static void run_threads(void *(*body)(void *), unsigned long count)
{
    pthread_t threads[128];
    for (uintptr_t i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, body, (void *)i))
            exit(5);
    for (unsigned long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void storm(unsigned long threads)
{
    prepare();
    run_threads(all_at_once, threads);
    must(cuCtxSynchronize(), "synchronize");
}

/* Like a framework that starts again after an error. */
static void start_again(void)
{
    CUcontext mine;
    CUmodule module;
    if (cuDevicePrimaryCtxRetain(&mine, 0) || cuCtxSetCurrent(mine) ||
        cuModuleLoadData(&module, vx_test_kernels) ||
        cuModuleGetFunction(&spin, module, "vx_spin"))
        spin = NULL;
}

/* Launches whose context goes away under them may answer anything. */
static void *against_reset(void *number)
{
    start_again();
    for (unsigned long i = 0; i < rounds; i++) {
        CUdeviceptr p = 0;
        if ((uintptr_t)number == 0 && i % 8 == 7) {
            cuDevicePrimaryCtxReset_v2(0);
            continue;
        }
        if (!spin || launch(NULL) != CUDA_SUCCESS)
            start_again();
        if (cuMemAlloc_v2(&p, 1 << 20) == CUDA_SUCCESS && i % 2)
            cuMemFree_v2(p);
        cuCtxSynchronize();
    }
    return NULL;
}

static void reset(unsigned long threads)
{
    prepare();
    run_threads(against_reset, threads);
    cuDevicePrimaryCtxReset_v2(0);
}

/* More captures than anyone expects; the gate must know them all again. */
static void captures(unsigned long count)
{
    CUstream s[128];
    CUgraph g;
    prepare();
    for (unsigned long i = 0; i < count; i++) {
        must(cuStreamCreate(&s[i], 1), "stream");
        must(cuStreamBeginCapture_v2(s[i], CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
        must(launch(s[i]), "captured");
    }
    for (unsigned long i = 0; i < count; i++)
        must(cuStreamEndCapture(s[i], &g), "end");
    for (unsigned long i = 0; i < rounds; i++)
        must(launch(s[i % count]), "launch");
    must(cuCtxSynchronize(), "synchronize");
}

static CUstream captured;

static void *end_in_the_wrong_thread(void *graph)
{
    cuCtxSetCurrent(context);
    return cuStreamEndCapture(captured, graph) ? graph : NULL;
}

/* Another thread's end of a capture ends nothing: no event may get into it. */
static void wrong(unsigned long unused)
{
    pthread_t thread;
    CUgraph graph = NULL;
    CUgraphNode nodes[16];
    size_t count = 16;
    void *refused;
    (void)unused;
    prepare();
    must(launch(NULL), "launch");
    must(cuStreamCreate(&captured, 1), "stream");
    must(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
    must(launch(captured), "captured");
    pthread_create(&thread, NULL, end_in_the_wrong_thread, &graph);
    pthread_join(thread, &refused);
    for (int i = 0; i < 3; i++)
        must(launch(captured), "captured");
    must(cuStreamEndCapture(captured, &graph), "end");
    must(cuGraphGetNodes(graph, nodes, &count), "nodes");
    printf("refused=%d nodes=%zu ", refused != NULL, count);
}

/* A program that has a context starts another: it comes to life by itself. */
static void starts(unsigned long unused)
{
    static char *const words[] = {"cuda_crowd", "absurd", NULL};
    int status[3];
    (void)unused;
    prepare();
    must(launch(NULL), "launch");
    pid_t child = fork();
    if (child == 0) {
        execv("/proc/self/exe", words);
        _exit(9);
    }
    waitpid(child, &status[0], 0);
    child = vfork();
    if (child == 0) {
        execv("/proc/self/exe", words);
        _exit(9);
    }
    waitpid(child, &status[1], 0);
    child = vfork();
    if (child == 0)
        _exit(0);
    waitpid(child, &status[2], 0);
    must(launch(NULL), "launch");
    must(cuCtxSynchronize(), "synchronize");
    printf("%d %d %d ", status[0], status[1], status[2]);
}

/* What was destroyed is used again: refused or not, never a crash. */
static void stale(unsigned long count)
{
    CUstream s;
    CUgraph g;
    CUgraphExec exec;
    CUevent event;
    prepare();
    must(cuStreamCreate(&s, 1), "stream");
    must(launch(s), "launch");
    must(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
    must(launch(s), "captured");
    must(cuStreamEndCapture(s, &g), "end");
    must(cuGraphInstantiateWithFlags(&exec, g, 0), "instantiate");
    must(cuEventCreate(&event, 0), "event");
    must(cuGraphExecDestroy(exec), "exec");
    must(cuGraphDestroy(g), "graph");
    must(cuStreamDestroy_v2(s), "stream");
    must(cuEventDestroy_v2(event), "event");
    for (unsigned long i = 0; i < count; i++) {
        launch(s);
        cuGraphLaunch(exec, s);
        cuGraphInstantiateWithFlags(&exec, g, 0);
        cuStreamSynchronize(s);
        cuStreamEndCapture(s, &g);
        cuEventRecord(event, s);
        cuMemFreeAsync(4096, s);
    }
    must(cuDevicePrimaryCtxRelease_v2(0), "release");
    cuCtxSetCurrent(context);
    launch(NULL);
    cuCtxSynchronize();
}

/* Sizes, numbers and pointers from another world: refused, not charged. */
static void absurd(unsigned long unused)
{
    static const size_t sizes[] = {0, SIZE_MAX, SIZE_MAX - 4095, SIZE_MAX / 2,
                                   (size_t)1 << 63, SIZE_MAX - (2 << 20)};
    CUdeviceptr p;
    CUcontext c;
    size_t pitch, total;
    (void)unused;
    prepare();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = sizes[i];
        CUmemGenericAllocationHandle h;
        CUmemAllocationProp where = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
        where.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        CUresult got[] = {
            cuMemAlloc_v2(&p, n), cuMemAllocManaged(&p, n, 1),
            cuMemAllocPitch_v2(&p, &pitch, n, n, 4),
            cuMemAllocPitch_v2(&p, &pitch, 1 << 20, n, 16),
            n ? cuMemAllocAsync(&p, n, NULL) : CUDA_ERROR_INVALID_VALUE,
            cuMemCreate(&h, n, &where, 0), cuMemHostAlloc((void **)&p, n, 0),
            cuMemHostRegister_v2(far_end, n, 0), cuCtxSetLimit(1, n | 1ULL << 62)};
        for (size_t k = 0; k < sizeof got / sizeof *got; k++)
            if (got[k] == CUDA_SUCCESS)
                fprintf(stderr, "size %zx call %zu: granted\n", n, k);
    }
    for (int device = -3; device < 40; device += device == -1 ? 2 : 1) {
        if (device == 0)
            continue;
        CUdevice far = device < 8 ? device : device << 24;
        if (!cuDevicePrimaryCtxRetain(&c, far) || !cuDeviceTotalMem_v2(&total, far) ||
            !cuCtxCreate_v2(&c, 0, far))
            fprintf(stderr, "device %d: granted\n", far);
        cuDevicePrimaryCtxRelease_v2(far);
        cuDevicePrimaryCtxReset_v2(far);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(unsigned long);
    } patterns[] = {{"storm", storm}, {"reset", reset}, {"captures", captures},
                    {"wrong", wrong}, {"starts", starts}, {"stale", stale}, {"absurd", absurd}};
    unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 0) : 4;
    rounds = argc > 3 ? strtoul(argv[3], NULL, 0) : rounds;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        if (argc < 2 || strcmp(argv[1], patterns[i].name) != 0)
            continue;
        patterns[i].run(count < 128 ? count : 128);
        printf("%s ended\n", argv[1]);
        return 0;
    }
    return 2;
}
