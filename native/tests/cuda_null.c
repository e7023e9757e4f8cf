/*
 * A driver that does nothing, at once: what is left of a call's time is the
 * hook's own. Its events say that each launch took 5 us, so that the gate
 * does what it does for small kernels. For benchmarks only.
 */
#include <stdatomic.h>

#include "vxpu/cuda_abi.h"

#define NULL_API __attribute__((visibility("default")))
#define OK(name, params)                  \
    NULL_API CUresult name params;        \
    NULL_API CUresult name params         \
    {                                     \
        return CUDA_SUCCESS;              \
    }
#define GIVES(name, params, what)         \
    NULL_API CUresult name params;        \
    NULL_API CUresult name params         \
    {                                     \
        what;                             \
        return CUDA_SUCCESS;              \
    }

static _Atomic unsigned long launched;
static unsigned long marks[4096];
static unsigned mark_count;
static char thing[64];

OK(cuInit, (unsigned f __attribute__((unused))))
GIVES(cuDeviceGet, (CUdevice * d, int i), *d = i)
GIVES(cuDeviceGetCount, (int *n), *n = 1)
GIVES(cuDeviceGetUuid_v2, (CUuuid * id, CUdevice d),
      for (int i = 0; i < 16; i++) id->bytes[i] = (char)(i + 1 + d))
GIVES(cuDevicePrimaryCtxRetain, (CUcontext * c, CUdevice d),
      *c = (CUcontext)(void *)(thing + d))
GIVES(cuDevicePrimaryCtxGetState, (CUdevice d, unsigned *f, int *on),
      *f = 0; *on = d == 0)
OK(cuCtxSetCurrent, (CUcontext c __attribute__((unused))))
GIVES(cuCtxGetCurrent, (CUcontext * c), *c = (CUcontext)(void *)thing)
GIVES(cuCtxGetDevice, (CUdevice * d), *d = 0)
OK(cuCtxSynchronize, (void))
GIVES(cuModuleLoadData, (CUmodule * m, const void *image),
      *m = (CUmodule)(void *)(thing + (image == 0)))
GIVES(cuModuleGetFunction, (CUfunction * f, CUmodule m, const char *n),
      *f = (CUfunction)(void *)(thing + 8 + (!m || !n)))
GIVES(cuMemAlloc_v2, (CUdeviceptr * p, size_t n), *p = 0x7f0000000000 + n)
OK(cuMemFree_v2, (CUdeviceptr p __attribute__((unused))))
OK(cuMemcpyHtoDAsync_v2,
   (CUdeviceptr a __attribute__((unused)), const void *b __attribute__((unused)),
    size_t n __attribute__((unused)), CUstream s __attribute__((unused))))
GIVES(cuLaunchKernel,
      (CUfunction f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e,
       unsigned g, unsigned h, CUstream s, void **p, void **x),
      (void)f; (void)a; (void)b; (void)c; (void)d; (void)e; (void)g; (void)h;
      (void)s; (void)p; (void)x;
      atomic_store_explicit(&launched, launched + 1, memory_order_relaxed))
GIVES(cuEventCreate, (CUevent * e, unsigned f),
      *e = (CUevent)(void *)&marks[(mark_count++ + f) % 4096])
OK(cuEventDestroy_v2, (CUevent e __attribute__((unused))))
GIVES(cuEventRecord, (CUevent e, CUstream s),
      *(unsigned long *)(void *)e = launched; (void)s)
OK(cuEventQuery, (CUevent e __attribute__((unused))))
OK(cuStreamQuery, (CUstream s __attribute__((unused))))
GIVES(cuEventElapsedTime, (float *ms, CUevent a, CUevent b),
      *ms = 0.005F * (float)(long)(*(unsigned long *)(void *)b -
                                   *(unsigned long *)(void *)a))
