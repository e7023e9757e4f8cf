/*
 * Device memory that a context takes for its limits (device heap, stacks,
 * printf buffer): what exceeds the first value is checked before it is set.
 * And code, which the agent's overhead accounts for: it is let through.
 */
#include "cu_memory.h"
#include "log.h"
#include "session.h"

static uint64_t threads_of(CUdevice dev)
{
    int units = 0, each = 0;
    if (vx_cu()->cuDeviceGetAttribute(
            &units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev) !=
            CUDA_SUCCESS ||
        vx_cu()->cuDeviceGetAttribute(
            &each, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, dev) !=
            CUDA_SUCCESS)
        return 0;
    return (uint64_t)units * (uint64_t)each;
}

/* Bytes of the device that a limit of that value takes. */
static uint64_t cost_of(CUlimit limit, uint64_t value, CUdevice dev)
{
    uint64_t threads;
    switch (limit) {
    case CU_LIMIT_PRINTF_FIFO_SIZE:
    case CU_LIMIT_MALLOC_HEAP_SIZE:
        return vx_mem_round(value);
    case CU_LIMIT_STACK_SIZE:
        threads = threads_of(dev);
        return threads && value > UINT64_MAX / threads
                   ? UINT64_MAX
                   : vx_mem_round(value * threads);
    default:
        return 0;
    }
}

/* The entry of this limit, out of the map; a new one knows what came first. */
static struct vx_charge *entry_of(uint64_t key, int device, uint64_t cost)
{
    struct vx_charge *c = vx_charge_take(VX_SPACE_LIMIT, key);
    if (c || !(c = vx_charge_known()))
        return c;
    c->device = device;
    c->kind = VX_MEMORY_CONTEXT;
    c->note = cost;
    return c;
}

static CUresult set_charged(CUlimit limit, size_t value, int device,
                            size_t before)
{
    CUdevice dev = vx_cu_device_of(device);
    uint64_t owner = vx_cu_owner(device), key = owner << 8 | (uint64_t)limit;
    struct vx_charge *c = entry_of(key, device, cost_of(limit, before, dev));
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    c->owner = owner;
    uint64_t cost = cost_of(limit, value, dev), old = c->bytes;
    uint64_t want = cost > c->note ? cost - c->note : 0;
    CUresult err = CUDA_ERROR_OUT_OF_MEMORY;
    if (want <= old || vx_cu_grow(c, want - old)) {
        VX_CRASH("limit.reserved");
        err = vx_cu()->cuCtxSetLimit(limit, value);
        uint64_t keep = err == CUDA_SUCCESS ? want : old;
        if (c->bytes > keep)
            vx_charge_shrink(c, c->bytes - keep);
    }
    vx_charge_bind(c, VX_SPACE_LIMIT, key);
    return err;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    enum vx_mode mode = vx_cu_mode();
    size_t before;
    if (mode == VX_REFUSE)
        return CUDA_ERROR_NO_DEVICE;
    int device = mode == VX_LIMIT ? vx_cu_current_device() : VX_DEVICE_NONE;
    if (device < 0 || cost_of(limit, 1, vx_cu_device_of(device)) == 0 ||
        vx_cu()->cuCtxGetLimit(&before, limit) != CUDA_SUCCESS)
        return vx_cu()->cuCtxSetLimit(limit, value);
    return set_charged(limit, value, device, before);
}
