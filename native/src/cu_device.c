/* From the driver's devices, contexts and streams to the region's devices. */
#include <stdatomic.h>

#include "cu_memory.h"
#include "session.h"

enum { CACHED = 64, UNASKED = 0, SHIFT = 4 };

/* Index + SHIFT; a card keeps its UUID, and a region its devices, for life. */
static _Atomic signed char known[CACHED];

static int ask(CUdevice dev)
{
    CUuuid id;
    /* _v2 tells a MIG instance's own; older drivers have only the card's. */
    if (vx_cu()->cuDeviceGetUuid_v2(&id, dev) != CUDA_SUCCESS &&
        vx_cu()->cuDeviceGetUuid(&id, dev) != CUDA_SUCCESS)
        return VX_DEVICE_NONE;
    return vx_session_device_of((const unsigned char *)id.bytes);
}

int vx_cu_region_device(CUdevice dev)
{
    if (dev < 0 || dev >= CACHED)
        return VX_DEVICE_NONE;
    int seen = atomic_load_explicit(&known[dev], memory_order_relaxed);
    if (seen != UNASKED)
        return seen - SHIFT;
    int index = ask(dev);
    /* Before cuInit the driver knows no device: ask again later. */
    if (index != VX_DEVICE_NONE)
        atomic_store(&known[dev], (signed char)(index + SHIFT));
    return index;
}

CUdevice vx_cu_device_of(int region_device)
{
    for (CUdevice dev = 0; dev < CACHED; dev++) {
        int index = vx_cu_region_device(dev);
        if (index == region_device)
            return dev;
        if (index == VX_DEVICE_NONE)
            break;
    }
    return -1;
}

int vx_cu_current_device(void)
{
    CUdevice dev;
    if (vx_cu()->cuCtxGetDevice(&dev) != CUDA_SUCCESS)
        return VX_DEVICE_NONE;
    return vx_cu_region_device(dev);
}

/* Drivers before 13 tell the device of the current context only. */
static int device_by_switching(CUcontext ctx)
{
    CUcontext popped;
    if (vx_cu()->cuCtxPushCurrent_v2(ctx) != CUDA_SUCCESS)
        return VX_DEVICE_NONE;
    int device = vx_cu_current_device();
    vx_cu()->cuCtxPopCurrent_v2(&popped);
    return device;
}

int vx_cu_context_device(CUcontext ctx)
{
    CUdevice dev;
    if (!ctx)
        return vx_cu_current_device();
    if (vx_cu()->cuCtxGetDevice_v2(&dev, ctx) == CUDA_SUCCESS)
        return vx_cu_region_device(dev);
    return device_by_switching(ctx);
}

int vx_cu_stream_device(CUstream stream)
{
    CUdevice dev;
    CUcontext ctx;
    if (stream == VX_STREAM_NULL || stream == CU_STREAM_LEGACY ||
        stream == CU_STREAM_PER_THREAD)
        return vx_cu_current_device();
    if (vx_cu()->cuStreamGetDevice(stream, &dev) == CUDA_SUCCESS)
        return vx_cu_region_device(dev);
    if (vx_cu()->cuStreamGetCtx(stream, &ctx) == CUDA_SUCCESS)
        return vx_cu_context_device(ctx);
    return vx_cu_current_device();
}

int vx_cu_location_device(const CUmemLocation *location)
{
    switch ((int)location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return vx_cu_region_device(location->id);
    case CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN:
        return vx_cu_region_device(location->localized.deviceId);
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        return VX_DEVICE_HOST;
    default:
        return VX_DEVICE_NONE;
    }
}
