/* Page-locked host memory: counted always, refused beyond its own quota. */
#include "cu_memory.h"

/* Counted on the current device's account, for lack of a better one. */
static CUresult reserve_host(uint64_t bytes, struct vx_charge **c)
{
    int device = vx_cu_current_device();
    CUresult err = vx_cu_reserve(device, VX_MEMORY_HOST, vx_mem_round(bytes),
                                 c);
    if (*c)
        (*c)->owner = vx_cu_owner(device);
    return err;
}

static CUresult settle(struct vx_charge *c, CUresult err, void *const *out)
{
    return vx_cu_settle(c, err, VX_SPACE_HOST, err ? 0 : (uintptr_t)*out);
}

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned int flags)
{
    struct vx_charge *c;
    CUresult err = reserve_host(bytes, &c);
    if (err != CUDA_SUCCESS)
        return err;
    return settle(c, vx_cu()->cuMemHostAlloc(out, bytes, flags), out);
}

CUresult cuMemAllocHost_v2(void **out, size_t bytes)
{
    struct vx_charge *c;
    CUresult err = reserve_host(bytes, &c);
    if (err != CUDA_SUCCESS)
        return err;
    return settle(c, vx_cu()->cuMemAllocHost_v2(out, bytes), out);
}

CUresult cuMemAllocHost(void **out, unsigned int bytes)
{
    struct vx_charge *c;
    CUresult err = reserve_host(bytes, &c);
    if (err != CUDA_SUCCESS)
        return err;
    return settle(c, vx_cu()->cuMemAllocHost(out, bytes), out);
}

CUresult cuMemFreeHost(void *at)
{
    struct vx_charge *c = vx_cu_take(VX_SPACE_HOST, (uintptr_t)at);
    return vx_cu_freed(c, vx_cu()->cuMemFreeHost(at), VX_SPACE_HOST,
                       (uintptr_t)at);
}

CUresult cuMemHostRegister_v2(void *at, size_t bytes, unsigned int flags)
{
    struct vx_charge *c;
    CUresult err = reserve_host(bytes, &c);
    if (err != CUDA_SUCCESS)
        return err;
    err = vx_cu()->cuMemHostRegister_v2(at, bytes, flags);
    return vx_cu_settle(c, err, VX_SPACE_HOST, (uintptr_t)at);
}

CUresult cuMemHostRegister(void *at, size_t bytes, unsigned int flags)
{
    struct vx_charge *c;
    CUresult err = reserve_host(bytes, &c);
    if (err != CUDA_SUCCESS)
        return err;
    err = vx_cu()->cuMemHostRegister(at, bytes, flags);
    return vx_cu_settle(c, err, VX_SPACE_HOST, (uintptr_t)at);
}

CUresult cuMemHostUnregister(void *at)
{
    struct vx_charge *c = vx_cu_take(VX_SPACE_HOST, (uintptr_t)at);
    return vx_cu_freed(c, vx_cu()->cuMemHostUnregister(at), VX_SPACE_HOST,
                       (uintptr_t)at);
}
