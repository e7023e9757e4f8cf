/*
 * What a hook costs: the same calls over and over, timed on the real clock.
 *   cuda_hook launch|alloc|copy COUNT
 * Run with the limiter preloaded and without: the difference is the hook's.
 */
#include <string.h>
#include <time.h>

#include "cuda_driver.h"

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static CUfunction spin;
static CUdeviceptr memory;

static void launches(unsigned long count)
{
    uint64_t ns = 1;
    void *params[] = {&ns};
    for (unsigned long i = 0; i < count; i++)
        cu.cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
}

static void allocations(unsigned long count)
{
    CUdeviceptr p;
    for (unsigned long i = 0; i < count; i++)
        if (cu.cuMemAlloc_v2(&p, 4096) == CUDA_SUCCESS)
            cu.cuMemFree_v2(p);
}

static void copies(unsigned long count)
{
    static char from[64];
    for (unsigned long i = 0; i < count; i++)
        cu.cuMemcpyHtoDAsync_v2(memory, from, sizeof from, NULL);
}

int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    if (argc < 3)
        return 2;
    vx_test_open_driver();
    DO(cuInit(0));
    DO(cuDeviceGet(&device, 0));
    DO(cuDevicePrimaryCtxRetain(&context, device));
    DO(cuCtxSetCurrent(context));
    DO(cuModuleLoadData(&module, vx_test_kernels));
    DO(cuModuleGetFunction(&spin, module, "vx_spin"));
    DO(cuMemAlloc_v2(&memory, 4096));
    void (*run)(unsigned long) = argv[1][0] == 'l'   ? launches
                                 : argv[1][0] == 'a' ? allocations
                                                     : copies;
    unsigned long count = strtoul(argv[2], NULL, 0), turn = count / 10 + 1;
    uint64_t best = UINT64_MAX;
    run(turn); /* costs are learnt, pools are filled */
    for (unsigned long done = 0; done < count; done += turn) {
        DO(cuCtxSynchronize());
        uint64_t began = now_ns();
        run(turn);
        uint64_t took = (now_ns() - began) * 1000 / turn;
        if (took < best)
            best = took;
    }
    printf("ps=%llu\n", (unsigned long long)best);
    return 0;
}
