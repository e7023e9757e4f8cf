/*
 * cuGetProcAddress: the highest ABI variant that the asked CUDA version knows.
 * Per-thread look-ups fall back to the legacy variant where there is no other.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vxpu/cuda_abi.h"

#include "export.h"
#include "version.h"

enum stream_kind { LEGACY, PER_THREAD };

struct variant {
    const char *base;
    int version;
    enum stream_kind stream;
    const void *address;
};

/* An address needs no prototype: the names are declared as bare objects. */
#define VX_SYMBOL(name) extern const char address_of_##name[] __asm__(#name);
#define VX_INTEROP(name) VX_SYMBOL(name)
#include "vxpu/driver_symbols.def"

static const struct variant variants[] = {
#define VF_VERSION(base, version, stream, name) \
    {#base, version, stream, address_of_##name},
#include "versions.def"
};

enum { VARIANTS = sizeof variants / sizeof variants[0] };

static int by_base(const void *key, const void *member)
{
    const struct variant *variant = member;

    return strcmp(key, variant->base);
}

static const struct variant *first_of(const char *base)
{
    const struct variant *found = bsearch(base, variants, VARIANTS,
                                          sizeof variants[0], by_base);

    while (found && found > variants && !strcmp(found[-1].base, base))
        found--;
    return found;
}

/* Sorted: legacy before per-thread, old before new, so the last fit wins. */
static const void *pick(const struct variant *first, int version,
                        bool per_thread)
{
    const struct variant *end = variants + VARIANTS;
    const char *base = first->base;
    const void *address = NULL;

    for (; first < end && !strcmp(first->base, base); first++)
        if (first->version <= version &&
            (first->stream == LEGACY || per_thread))
            address = first->address;
    return address;
}

static CUresult look_up(const char *symbol, void **pfn, int version,
                        uint64_t flags,
                        CUdriverProcAddressQueryResult *status)
{
    const struct variant *first;

    if (!symbol || !pfn || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
        || version > VF_DRIVER_VERSION)
        return CUDA_ERROR_INVALID_VALUE;
    *pfn = NULL;
    first = first_of(symbol);
    if (!first) {
        *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        return CUDA_SUCCESS;
    }
    *pfn = (void *)(uintptr_t)pick(
        first, version,
        flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    *status = *pfn ? CU_GET_PROC_ADDRESS_SUCCESS
                   : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    return CUDA_SUCCESS;
}

/* 11.3: no status word, so a miss is an error. */
VF_EXPORT CUresult cuGetProcAddress(const char *symbol, void **pfn,
                                    int version, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult code = look_up(symbol, pfn, version, flags, &status);

    if (code == CUDA_SUCCESS && status != CU_GET_PROC_ADDRESS_SUCCESS)
        return CUDA_ERROR_NOT_FOUND;
    return code;
}

/* 12.0: a miss is told by the status and a NULL pointer. */
VF_EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **pfn,
                                       int version, cuuint64_t flags,
                                       CUdriverProcAddressQueryResult *status)
{
    CUdriverProcAddressQueryResult unused;

    return look_up(symbol, pfn, version, flags, status ? status : &unused);
}

/* Compiled for per-thread streams: "default" means per thread. */
VF_EXPORT CUresult cuGetProcAddress_v2_ptsz(
    const char *symbol, void **pfn, int version, cuuint64_t flags,
    CUdriverProcAddressQueryResult *status)
{
    if (flags == CU_GET_PROC_ADDRESS_DEFAULT)
        flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    return cuGetProcAddress_v2(symbol, pfn, version, flags, status);
}
