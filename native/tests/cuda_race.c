/*
 * Many threads at the gate, for the sanitizers: linked with the limiter's
 * sources, so that calls by name are its wrappers, over the driver that does
 * nothing (cuda_null.c). Prints what was launched and what was counted.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "cu_gate.h"
#include "cu_real.h"

enum { THREADS = 8 };

static unsigned long rounds;
static char functions[16];

static void *work(void *number)
{
    uintptr_t me = (uintptr_t)number;
    for (unsigned long i = 0; i < rounds; i++) {
        CUfunction f = (CUfunction)(void *)&functions[(me + i / 64) % 16];
        /* A stream of its own, one that all share, its default one. */
        uintptr_t stream = i % 3 == 0 ? 4096 * (me + 1) : i % 3 == 1 ? 64 : 2;
        cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, (CUstream)stream, NULL, NULL);
        if (i % 97 == me)
            cuCtxSynchronize();
        if (i % 193 == me)
            cuStreamWaitEvent((CUstream)stream, NULL, 0);
        if (me == 0 && i % 1000 == 999)
            vx_gate_forget_device(0);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    CUdevice device;
    rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000;
    if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    if (cuInit(0) != CUDA_SUCCESS || vx_cu()->cuDeviceGet(&device, 0) != 0)
        return 4;
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    vx_gate_void();
    vx_flight_reap();
    struct vx_bucket b = vx_session_bucket(0);
    printf("launched=%lu counted=%llu in_flight=%d\n", THREADS * rounds,
           (unsigned long long)b.usage->launches, vx_flight_any());
    return 0;
}
