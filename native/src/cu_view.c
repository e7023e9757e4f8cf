/* The slice's share of a card as the CUDA calls tell it. */
#include "cu_memory.h"
#include "session.h"
#include "view.h"

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Room beyond the guaranteed part, as far as the slice bought any. */
static uint64_t spill_free(const struct vx_limits_device *l, int device)
{
    uint64_t limit = atomic_load(&l->limit_bytes);
    uint64_t soft = atomic_load(&l->soft_bytes);
    uint64_t used = vx_session_sum_bytes((unsigned)device, VX_MEMORY_SPILL);
    if (soft == 0 || soft >= limit || limit - soft <= used)
        return 0;
    return limit - soft - used;
}

struct vx_view vx_view_of(int device, uint64_t physical_total,
                          uint64_t physical_free)
{
    const struct vx_limits_device *l = vx_session_limits((unsigned)device);
    struct vx_view v;
    v.total = least(atomic_load(&l->limit_bytes), physical_total);
    v.free = vx_session_free_bytes((unsigned)device) + spill_free(l, device);
    v.free = least(least(v.free, physical_free), v.total);
    return v;
}

/* 1: the driver's answer stands; 0: shown in *v. */
static int look(int device, uint64_t total, uint64_t free, struct vx_view *v)
{
    if (device == VX_DEVICE_NONE || !vx_cu_limits())
        return 1;
    *v = device >= 0 ? vx_view_of(device, total, free)
                     : (struct vx_view){total, 0};
    return 0;
}

/* The driver first, with the caller's own pointers: its errors stay its own. */
CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    size_t real_free, real_total;
    struct vx_view v;
    CUresult err = vx_cu()->cuMemGetInfo_v2(free, total);
    if (err != CUDA_SUCCESS || !vx_cu_limits() ||
        vx_cu()->cuMemGetInfo_v2(&real_free, &real_total) != CUDA_SUCCESS ||
        look(vx_cu_current_device(), real_total, real_free, &v))
        return err;
    if (free)
        *free = v.free;
    if (total)
        *total = v.total;
    return err;
}

/* Of the 32-bit forms, as the driver itself: what fits. */
CUresult cuMemGetInfo(unsigned int *free, unsigned int *total)
{
    size_t real_free, real_total;
    struct vx_view v;
    CUresult err = vx_cu()->cuMemGetInfo(free, total);
    if (err != CUDA_SUCCESS || !vx_cu_limits() ||
        vx_cu()->cuMemGetInfo_v2(&real_free, &real_total) != CUDA_SUCCESS ||
        look(vx_cu_current_device(), real_total, real_free, &v))
        return err;
    if (free)
        *free = (unsigned int)least(v.free, UINT32_MAX);
    if (total)
        *total = (unsigned int)least(v.total, UINT32_MAX);
    return err;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    struct vx_view v;
    CUresult err = vx_cu()->cuDeviceTotalMem_v2(bytes, dev);
    if (err == CUDA_SUCCESS && vx_cu_limits() &&
        !look(vx_cu_region_device(dev), *bytes, *bytes, &v))
        *bytes = v.total;
    return err;
}

CUresult cuDeviceTotalMem(unsigned int *bytes, CUdevice dev)
{
    size_t real;
    struct vx_view v;
    CUresult err = vx_cu()->cuDeviceTotalMem(bytes, dev);
    if (err == CUDA_SUCCESS && vx_cu_limits() &&
        vx_cu()->cuDeviceTotalMem_v2(&real, dev) == CUDA_SUCCESS &&
        !look(vx_cu_region_device(dev), real, real, &v))
        *bytes = (unsigned int)least(v.total, UINT32_MAX);
    return err;
}
