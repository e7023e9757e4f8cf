/*
 * The driver as the CUDA test programs use it: opened by name at run time, so
 * that they build without it and find whatever the environment puts first.
 */
#ifndef VXPU_TEST_CUDA_DRIVER_H
#define VXPU_TEST_CUDA_DRIVER_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"
#include "vxpu/cuda_abi.h"

#define VX_TEST_CALLS(CALL)                                                     \
    CALL(cuInit, (unsigned))                                                    \
    CALL(cuDeviceGet, (CUdevice *, int))                                        \
    CALL(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                     \
    CALL(cuDevicePrimaryCtxRelease_v2, (CUdevice))                              \
    CALL(cuCtxSetCurrent, (CUcontext))                                          \
    CALL(cuCtxSynchronize, (void))                                              \
    CALL(cuModuleLoadData, (CUmodule *, const void *))                          \
    CALL(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))           \
    CALL(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                \
    CALL(cuMemFree_v2, (CUdeviceptr))                                           \
    CALL(cuMemHostAlloc, (void **, size_t, unsigned))                           \
    CALL(cuMemHostGetDevicePointer_v2, (CUdeviceptr *, void *, unsigned))       \
    CALL(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))                  \
    CALL(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream))   \
    CALL(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))                        \
    CALL(cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream))       \
    CALL(cuStreamCreate, (CUstream *, unsigned))                                \
    CALL(cuStreamDestroy_v2, (CUstream))                                        \
    CALL(cuStreamSynchronize, (CUstream))                                       \
    CALL(cuStreamQuery, (CUstream))                                             \
    CALL(cuStreamWaitValue32_v2, (CUstream, CUdeviceptr, cuuint32_t, unsigned)) \
    CALL(cuStreamBeginCapture_v2, (CUstream, CUstreamCaptureMode))              \
    CALL(cuStreamEndCapture, (CUstream, CUgraph *))                             \
    CALL(cuEventCreate, (CUevent *, unsigned))                                  \
    CALL(cuEventRecord, (CUevent, CUstream))                                    \
    CALL(cuEventQuery, (CUevent))                                               \
    CALL(cuLaunchHostFunc, (CUstream, CUhostFn, void *))                        \
    CALL(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long)) \
    CALL(cuGraphLaunch, (CUgraphExec, CUstream))                                \
    CALL(cuGraphExecUpdate_v2, (CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo *)) \
    CALL(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned,   \
                          unsigned, unsigned, unsigned, CUstream, void **, void **))

struct vx_test_driver {
#define CALL(name, params) CUresult(*name) params;
    VX_TEST_CALLS(CALL)
#undef CALL
    /* Only a simulated driver has these. */
    uint64_t (*now)(void);
    void (*nap)(uint64_t);
};

static struct vx_test_driver cu;
static void *vx_test_library;

static void *vx_test_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

static void vx_test_open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
#ifdef VX_WRAPPED /* the limiter is in this program, not in front of dlsym */
    library = RTLD_DEFAULT;
#endif
    vx_test_library = library;
#define CALL(name, params) *(void **)&cu.name = vx_test_symbol(library, #name);
    VX_TEST_CALLS(CALL)
#undef CALL
    *(void **)&cu.now = vx_test_symbol(library, "vxfake_now_ns");
    *(void **)&cu.nap = vx_test_symbol(library, "vxfake_sleep_ns");
}

/* What fails ends the program with the code, 1 ... 255. */
static void vx_test_check(CUresult err, const char *what, int line)
{
    if (err == CUDA_SUCCESS)
        return;
    fprintf(stderr, "line %d: %s: %d\n", line, what, (int)err);
    exit(err < 256 ? (int)err : 255);
}
#define DO(call) vx_test_check(cu.call, #call, __LINE__)

#endif
