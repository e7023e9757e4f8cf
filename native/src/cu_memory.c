/* Plain, pitched and managed memory; the one shape of all that takes memory. */
#include "cu_gate.h"
#include "cu_memory.h"

#include "cu_pool.h"
#include "log.h"
#include "session.h"

bool vx_cu_limits(void)
{
    return vx_cu_mode() == VX_LIMIT;
}

void vx_cu_memory_after_fork(void)
{
    vx_cu_pools_after_fork();
    vx_cu_contexts_after_fork();
}

static struct vx_charge *make(int device, enum vx_memory kind, uint64_t bytes)
{
    struct vx_charge *c = vx_charge_make(device, kind, bytes);
    if (!c && kind != VX_MEMORY_HOST && vx_cu_pools_trim(device))
        c = vx_charge_make(device, kind, bytes);
    return c;
}

bool vx_cu_grow(struct vx_charge *c, uint64_t bytes)
{
    return vx_charge_grow(c, bytes) ||
           (vx_cu_pools_trim(c->device) && vx_charge_grow(c, bytes));
}

CUresult vx_cu_reserve(int device, enum vx_memory kind, uint64_t bytes,
                       struct vx_charge **c)
{
    *c = NULL;
    enum vx_mode mode = vx_cu_mode();
    if (mode == VX_REFUSE)
        return CUDA_ERROR_NO_DEVICE;
    if (mode == VX_PASS || device == VX_DEVICE_NONE || bytes == 0)
        return CUDA_SUCCESS;
    if (device == VX_DEVICE_HOST)
        *c = vx_charge_known();
    else if (device >= 0)
        *c = make(device, kind, bytes);
    return *c ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult vx_cu_settle(struct vx_charge *c, CUresult err, enum vx_space space,
                      uint64_t key)
{
    VX_CRASH("cuda.called");
    if (!c)
        return err;
    if (err == CUDA_SUCCESS)
        vx_charge_bind(c, space, key);
    else
        vx_charge_drop(c);
    VX_CRASH("cuda.bound");
    return err;
}

CUresult vx_cu_note_known(CUresult err, enum vx_space space, uint64_t key)
{
    struct vx_charge *c = NULL;
    if (err == CUDA_SUCCESS && vx_cu_limits() && (c = vx_charge_known()))
        vx_charge_bind(c, space, key);
    return err;
}

struct vx_charge *vx_cu_take(enum vx_space space, uint64_t key)
{
    if (!key || !vx_cu_limits())
        return NULL;
    struct vx_charge *c = vx_charge_take(space, key);
    VX_CRASH("cuda.taken");
    return c;
}

CUresult vx_cu_freed(struct vx_charge *c, CUresult err, enum vx_space space,
                     uint64_t key)
{
    VX_CRASH("cuda.freed");
    if (c && err == CUDA_SUCCESS)
        vx_cu_pool_free(c);
    else if (c)
        vx_charge_bind(c, space, key);
    else if (err == CUDA_SUCCESS && key && vx_cu_limits())
        vx_session_count_unknown_free();
    return err;
}

/*
 * What the driver takes for a piece of memory of its own: pages of 2 MiB for
 * 1 MiB and more; smaller pieces share such pages, so they count as they are.
 */
uint64_t vx_cu_round(uint64_t bytes)
{
    const uint64_t page = 2 << 20;
    if (bytes < page / 2)
        return vx_mem_round(bytes);
    return bytes > UINT64_MAX - page ? UINT64_MAX
                                     : (bytes + page - 1) / page * page;
}

/* Room on the device, or a verdict; *spill when it must be managed memory. */
static CUresult reserve_plain(uint64_t bytes, struct vx_charge **c,
                              int *spill_to)
{
    int device = vx_cu_current_device();
    CUresult err = vx_cu_reserve(device, VX_MEMORY_DEVICE, vx_cu_round(bytes),
                                 c);
    *spill_to = -1;
    if (err == CUDA_ERROR_OUT_OF_MEMORY && vx_cu_spill_bought(device))
        *spill_to = device;
    if (*c)
        (*c)->owner = vx_cu_owner(device);
    return err;
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    struct vx_charge *c;
    int spill_to;
    CUresult err = reserve_plain(bytes, &c, &spill_to);
    if (err != CUDA_SUCCESS && spill_to >= 0 && out)
        return vx_cu_spill_alloc(spill_to, out, bytes);
    if (err != CUDA_SUCCESS)
        return err;
    err = vx_cu()->cuMemAlloc_v2(out, bytes);
    return vx_cu_settle(c, err, VX_SPACE_MEMORY, err ? 0 : *out);
}

/* 32-bit addresses cannot name managed memory: this form never spills. */
CUresult cuMemAlloc(CUdeviceptr_v1 *out, unsigned int bytes)
{
    struct vx_charge *c;
    int spill_to;
    CUresult err = reserve_plain(bytes, &c, &spill_to);
    if (err != CUDA_SUCCESS)
        return err;
    err = vx_cu()->cuMemAlloc(out, bytes);
    return vx_cu_settle(c, err, VX_SPACE_MEMORY, err ? 0 : *out);
}

static uint64_t times(uint64_t a, uint64_t b)
{
    return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* What a row takes at least; the driver's own pitch is charged behind. */
enum { PITCH = 512 };

static uint64_t row_bytes(size_t width)
{
    return width > SIZE_MAX - PITCH ? UINT64_MAX
                                    : (width + PITCH - 1) / PITCH * PITCH;
}

/* The real pitch may be wider than ours: charge the rest or take it back. */
static CUresult settle_pitch(struct vx_charge *c, CUresult err, uint64_t at,
                             uint64_t bytes)
{
    uint64_t real = vx_cu_round(bytes);
    if (!c || err != CUDA_SUCCESS)
        return vx_cu_settle(c, err, VX_SPACE_MEMORY, at);
    if (real < c->bytes)
        vx_charge_shrink(c, c->bytes - real);
    if (real > c->bytes && !vx_cu_grow(c, real - c->bytes)) {
        vx_cu()->cuMemFree_v2(at);
        err = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return vx_cu_settle(c, err, VX_SPACE_MEMORY, at);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width,
                            size_t height, unsigned int element)
{
    struct vx_charge *c;
    int spill_to;
    uint64_t bytes = times(row_bytes(width), height);
    CUresult err = reserve_plain(bytes, &c, &spill_to);
    if (err != CUDA_SUCCESS && spill_to >= 0 && out && pitch &&
        bytes <= SIZE_MAX) {
        err = vx_cu_spill_alloc(spill_to, out, bytes);
        if (err == CUDA_SUCCESS)
            *pitch = row_bytes(width);
        return err;
    }
    if (err != CUDA_SUCCESS)
        return err;
    CUdeviceptr at = 0;
    size_t got = 0;
    if (!c || !out || !pitch)
        err = vx_cu()->cuMemAllocPitch_v2(out, pitch, width, height, element);
    else
        err = vx_cu()->cuMemAllocPitch_v2(&at, &got, width, height, element);
    err = settle_pitch(c, err, at, times(got, height));
    if (err == CUDA_SUCCESS && at) {
        *out = at;
        *pitch = got;
    }
    return err;
}

CUresult cuMemAllocPitch(CUdeviceptr_v1 *out, unsigned int *pitch,
                         unsigned int width, unsigned int height,
                         unsigned int element)
{
    struct vx_charge *c;
    int spill_to;
    CUresult err = reserve_plain(times(row_bytes(width), height), &c,
                                 &spill_to);
    if (err != CUDA_SUCCESS)
        return err;
    err = vx_cu()->cuMemAllocPitch(out, pitch, width, height, element);
    return vx_cu_settle(c, err, VX_SPACE_MEMORY, err ? 0 : *out);
}

/* Managed memory counts as the device's own, unless there is spill to buy. */
CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned int flags)
{
    struct vx_charge *c;
    int spill_to;
    CUresult err = reserve_plain(bytes, &c, &spill_to);
    if (err != CUDA_SUCCESS && spill_to >= 0) {
        err = vx_cu_reserve(spill_to, VX_MEMORY_SPILL, vx_cu_round(bytes),
                            &c);
        if (c)
            c->owner = vx_cu_owner(spill_to);
    }
    if (err != CUDA_SUCCESS)
        return err;
    err = vx_cu()->cuMemAllocManaged(out, bytes, flags);
    return vx_cu_settle(c, err, VX_SPACE_MEMORY, err ? 0 : *out);
}

CUresult cuMemFree_v2(CUdeviceptr at)
{
    struct vx_charge *c = vx_cu_take(VX_SPACE_MEMORY, at);
    vx_gate_before_sync();
    CUresult err = vx_cu()->cuMemFree_v2(at);
    vx_gate_after_sync();
    return vx_cu_freed(c, err, VX_SPACE_MEMORY, at);
}

CUresult cuMemFree(CUdeviceptr_v1 at)
{
    struct vx_charge *c = vx_cu_take(VX_SPACE_MEMORY, at);
    vx_gate_before_sync();
    CUresult err = vx_cu()->cuMemFree(at);
    vx_gate_after_sync();
    return vx_cu_freed(c, err, VX_SPACE_MEMORY, at);
}
