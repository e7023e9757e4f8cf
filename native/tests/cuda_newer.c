/* A driver from the future: it has a variant of a known call that we lack. */
#include <string.h>

#include "vxpu/cuda_abi.h"

CUresult cuInit(unsigned flags)
{
    (void)flags;
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = 15000;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t size)
{
    *out = size;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v3(CUdeviceptr *out, size_t size, int where)
{
    *out = size + (unsigned)where;
    return CUDA_SUCCESS;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version,
                             cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
    (void)flags;
    *function = NULL;
    if (strcmp(symbol, "cuMemAlloc") == 0)
        *function = version < 15000 ? (void *)cuMemAlloc_v2
                                    : (void *)cuMemAlloc_v3;
    *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS
                        : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version,
                          cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    CUresult r = cuGetProcAddress_v2(symbol, function, version, flags, &status);
    return *function ? r : CUDA_ERROR_NOT_FOUND;
}

/* Two calls that nobody wraps, to see that all arguments arrive. */
CUresult cuTensorMapEncodeTiled(void *a, unsigned b, unsigned c, void *d,
                                void *e, void *f, void *g, void *h, unsigned i,
                                unsigned j, unsigned k, unsigned l)
{
    uintptr_t sum = (uintptr_t)a + 2 * b + 3 * c + 4 * (uintptr_t)d;
    sum += 5 * (uintptr_t)e + 6 * (uintptr_t)f + 7 * (uintptr_t)g;
    sum += 8 * (uintptr_t)h + 9 * i + 10 * j + 11 * k + 12 * l;
    return (CUresult)sum;
}

CUresult cuTexRefSetMipmapLevelClamp(void *texture, float low, float high)
{
    return texture && low == 1.5f && high == 2.5f ? CUDA_SUCCESS
                                                  : CUDA_ERROR_UNKNOWN;
}
