/*
 * Start, and the driver's own look-up. The real one is asked with the
 * caller's own version and flags, and its answer is swapped by identity: so
 * each caller gets exactly the variant that it would have got, limited.
 */
#include "cu_real.h"

CUresult cuInit(unsigned int flags)
{
    if (vx_cu_mode() == VX_REFUSE || !VX_CU_HAS(cuInit))
        return CUDA_ERROR_NO_DEVICE;
    return vx_cu()->cuInit(flags);
}

/* False: the answer is withheld, as if the driver had no such call. */
static bool swap(const char *symbol, void **function)
{
    if (!function || !*function || vx_cu_mode() == VX_PASS)
        return true;
    void *wrapper = vx_cu_wrapper_at(*function);
    if (wrapper)
        *function = wrapper;
    else if (symbol && vx_cu_name(symbol) != VX_NAME_OTHER &&
             !vx_cu_admit_variant(symbol))
        *function = NULL;
    return *function != NULL;
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version,
                          cuuint64_t flags)
{
    CUresult r = vx_cu()->cuGetProcAddress(symbol, function, version, flags);
    if (r != CUDA_SUCCESS || swap(symbol, function))
        return r;
    return CUDA_ERROR_NOT_FOUND;
}

typedef CUresult (*query)(const char *, void **, int, cuuint64_t,
                          CUdriverProcAddressQueryResult *);

static CUresult look_up(query real, const char *symbol, void **function,
                        int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status)
{
    CUresult r = real(symbol, function, version, flags, status);
    if (r != CUDA_SUCCESS || swap(symbol, function))
        return r;
    /* From CUDA 12 on a miss is told by the status alone. */
    if (status)
        *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version,
                             cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
    return look_up(vx_cu()->cuGetProcAddress_v2, symbol, function, version,
                   flags, status);
}

CUresult cuGetProcAddress_v2_ptsz(const char *symbol, void **function,
                                  int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *status)
{
    return look_up(vx_cu()->cuGetProcAddress_v2_ptsz, symbol, function,
                   version, flags, status);
}
