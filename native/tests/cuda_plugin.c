/*
 * A plugin that is linked with the driver, as frameworks' are: takes memory
 * and says how it went. The ways to load it are in cuda_ways.c.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "vxpu/cuda_abi.h"

CUresult cuInit(unsigned);
CUresult cuDeviceGet(CUdevice *, int);
CUresult cuDevicePrimaryCtxRetain(CUcontext *, CUdevice);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemGetInfo_v2(size_t *, size_t *);

int vx_plugin_main(int argc, char **argv);

/* Each argument: that many MiB are asked for and kept. */
int vx_plugin_main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    CUdeviceptr at;
    size_t before = 0, after = 0, total = 0;
    CUresult r = cuInit(0);
    printf("init=%d", r);
    if (r || cuDeviceGet(&device, 0) ||
        cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context)) {
        printf(" context=failed\n");
        return 0;
    }
    cuMemGetInfo_v2(&before, &total);
    for (int i = 0; i < argc; i++)
        printf(" %s=%d", argv[i], cuMemAlloc_v2(&at, strtoull(argv[i], NULL, 10) << 20));
    cuMemGetInfo_v2(&after, &total);
    printf(" taken=%zu total=%zu\n", (before - after) >> 20, total >> 20);
    return 0;
}
