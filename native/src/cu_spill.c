/*
 * Oversubscription: beyond the guaranteed part, plain and stream-ordered
 * memory becomes managed memory that prefers the device. Only for a slice
 * that bought it (limit above the guaranteed part); never for what must be
 * exported. What cannot be done with managed memory (IPC handles, VMM) the
 * driver refuses itself.
 */
#include "cu_memory.h"
#include "log.h"
#include "session.h"

bool vx_cu_spill_bought(int device)
{
    if (device < 0)
        return false;
    const struct vx_limits_device *l = vx_session_limits((unsigned)device);
    uint64_t soft = atomic_load(&l->soft_bytes);
    return soft != 0 && soft < atomic_load(&l->limit_bytes);
}

/* A hint only: a card that cannot follow it still works. */
static void prefer_device(int device, CUdeviceptr at, size_t bytes)
{
    CUdevice dev = vx_cu_device_of(device);
    CUmemLocation there = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev};
    if (vx_cu()->cuMemAdvise_v2(at, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                                there) != CUDA_SUCCESS)
        vx_cu()->cuMemAdvise(at, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                             dev);
}

CUresult vx_cu_spill_alloc(int device, CUdeviceptr *out, size_t bytes)
{
    struct vx_charge *c;
    CUdeviceptr at = 0;
    CUresult err = vx_cu_reserve(device, VX_MEMORY_SPILL, vx_cu_round(bytes),
                                 &c);
    if (err != CUDA_SUCCESS)
        return err;
    VX_CRASH("spill.reserved");
    if (c) {
        c->owner = vx_cu_owner(device);
        c->note = VX_NOTE_MANAGED;
    }
    err = vx_cu()->cuMemAllocManaged(&at, bytes, CU_MEM_ATTACH_GLOBAL);
    if (err == CUDA_SUCCESS)
        prefer_device(device, at, bytes);
    err = vx_cu_settle(c, err, VX_SPACE_MEMORY, at);
    if (err == CUDA_SUCCESS)
        *out = at;
    return err;
}
