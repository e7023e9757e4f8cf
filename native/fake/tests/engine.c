/*
 * A client of the simulated card for its own tests.
 *
 *   engine work kernel_ns=N [sync=1]   launches for ever; ended by a signal
 *   engine full kernel_ns=N            launches into a full queue
 *   engine threads kernel_ns=N         threads that do a bit of everything
 *   engine cost                        what a bare launch costs the host
 *
 * Each takes part in the card's time, says "ready", waits for a line of input
 * (time stands still until the last one got it), and then begins.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../clock.h"
#include "../engine.h"
#include "vxpu/cuda_abi.h"
#include "../../tests/kernels.h"

CUresult cuInit(unsigned);
CUresult cuDevicePrimaryCtxRetain(CUcontext *, CUdevice);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuCtxSynchronize(void);
CUresult cuModuleLoadData(CUmodule *, const void *);
CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *);
CUresult cuStreamCreate(CUstream *, unsigned);
CUresult cuStreamSynchronize(CUstream);
CUresult cuStreamDestroy_v2(CUstream);
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned);
CUresult cuCtxGetCurrent(CUcontext *);
CUresult cuEventCreate(CUevent *, unsigned);
CUresult cuEventRecord(CUevent, CUstream);
CUresult cuEventSynchronize(CUevent);
CUresult cuEventDestroy_v2(CUevent);
CUresult cuLaunchHostFunc(CUstream, CUhostFn, void *);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned,
                        unsigned, unsigned, unsigned, CUstream, void **,
                        void **);

static uint64_t kernel_ns = 200000, sync_each;
static CUfunction spin;
static CUstream stream;

static void must(CUresult r, const char *what)
{
    if (r) {
        fprintf(stderr, "%s answered %d\n", what, r);
        exit(1);
    }
}

static void start_driver(void)
{
    CUcontext context;
    CUmodule module;
    must(cuInit(0), "cuInit");
    must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    must(cuModuleLoadData(&module, vx_test_kernels), "cuModuleLoadData");
    must(cuModuleGetFunction(&spin, module, "vx_spin"), "cuModuleGetFunction");
    must(cuStreamCreate(&stream, 0), "cuStreamCreate");
}

static void launch(void)
{
    void *params[] = {&kernel_ns};
    must(cuLaunchKernel(spin, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL),
         "cuLaunchKernel");
}

static void wait_for_start(void)
{
    char line[8];
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        exit(1);
}

static void work(void)
{
    for (;;) {
        launch();
        if (sync_each)
            must(cuStreamSynchronize(stream), "cuStreamSynchronize");
    }
}

static void fill_queue(void)
{
    uint64_t from = vxfake_now_ns();
    for (int i = 0; i < VF_QUEUE; i++)
        launch();
    uint64_t full = vxfake_now_ns();
    launch();
    uint64_t room = vxfake_now_ns();
    must(cuCtxSynchronize(), "cuCtxSynchronize");
    printf("{\"filled_ns\": %" PRIu64 ", \"waited_ns\": %" PRIu64
           ", \"all_ns\": %" PRIu64 "}\n", full - from, room - full,
           vxfake_now_ns() - from);
}

static void cost(void)
{
    uint64_t best = UINT64_MAX;
    kernel_ns = 100;
    for (int round = 0; round < 20; round++) {
        uint64_t from = vxfake_now_ns();
        for (int i = 0; i < 900; i++)
            launch();
        uint64_t took = vxfake_now_ns() - from;
        best = took < best ? took : best;
        must(cuCtxSynchronize(), "cuCtxSynchronize");
    }
    printf("{\"launch_ns\": %" PRIu64 "}\n", best / 900);
}

static void note(void *count) { atomic_fetch_add((_Atomic int *)count, 1); }

static void *busy_thread(void *context)
{
    static _Atomic int notes;
    CUstream own;
    CUevent event;
    must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    must(cuStreamCreate(&own, 1), "cuStreamCreate");
    must(cuEventCreate(&event, 0), "cuEventCreate");
    void *params[] = {&kernel_ns};
    for (int i = 0; i < 3000; i++) {
        must(cuLaunchKernel(spin, 1, 1, 1, 32, 1, 1, 0, i % 3 ? own : stream,
                            params, NULL), "cuLaunchKernel");
        must(cuEventRecord(event, own), "cuEventRecord");
        must(cuStreamWaitEvent(stream, event, 0), "cuStreamWaitEvent");
        if (i % 50 == 0)
            must(cuLaunchHostFunc(own, note, &notes), "cuLaunchHostFunc");
        if (i % 100 == 0)
            must(cuEventSynchronize(event), "cuEventSynchronize");
    }
    must(cuStreamSynchronize(own), "cuStreamSynchronize");
    must(cuEventDestroy_v2(event), "cuEventDestroy");
    must(cuStreamDestroy_v2(own), "cuStreamDestroy");
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[4];
    CUcontext context;
    must(cuCtxGetCurrent(&context), "cuCtxGetCurrent");
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, busy_thread, context);
    vxfake_leave(); /* this thread waits outside the driver */
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    must(cuCtxSynchronize(), "cuCtxSynchronize");
    puts("{\"threads\": 4}");
}

static void set_option(const char *word)
{
    const char *at = strchr(word, '=');
    uint64_t value = at ? strtoull(at + 1, NULL, 0) : 0;
    if (strncmp(word, "kernel_ns=", 10) == 0)
        kernel_ns = value;
    if (strncmp(word, "sync=", 5) == 0)
        sync_each = value;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } verbs[] = {{"work", work}, {"full", fill_queue}, {"cost", cost},
                 {"threads", run_threads}};
    for (int i = 2; i < argc; i++)
        set_option(argv[i]);
    for (size_t i = 0; argc > 1 && i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(argv[1], verbs[i].name) != 0)
            continue;
        vxfake_join();
        start_driver();
        wait_for_start();
        verbs[i].run();
        return 0;
    }
    return 2;
}
