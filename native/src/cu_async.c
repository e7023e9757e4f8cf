/* Stream-ordered memory: the allocating and freeing calls. */
#include "cu_memory.h"
#include "cu_pool.h"
#include "log.h"
#include "session.h"

/* One allocating call, whichever of the four it is. */
struct request {
    CUdeviceptr *out;
    size_t bytes;
    CUmemoryPool from; /* NULL: the device's current pool */
    CUstream stream;
    bool per_thread;
};

static CUresult call(const struct request *r)
{
    const struct vx_cu_real *cu = vx_cu();
    if (r->from)
        return r->per_thread
                   ? cu->cuMemAllocFromPoolAsync_ptsz(r->out, r->bytes, r->from,
                                                      r->stream)
                   : cu->cuMemAllocFromPoolAsync(r->out, r->bytes, r->from,
                                                 r->stream);
    return r->per_thread ? cu->cuMemAllocAsync_ptsz(r->out, r->bytes, r->stream)
                         : cu->cuMemAllocAsync(r->out, r->bytes, r->stream);
}

/* In a capture the call makes a node: charged when a graph is instantiated. */
static bool is_capturing(CUstream stream, bool per_thread)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult err = per_thread
                       ? vx_cu()->cuStreamIsCapturing_ptsz(stream, &status)
                       : vx_cu()->cuStreamIsCapturing(stream, &status);
    return err == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static CUresult alloc_from(const struct request *r, struct vx_pool *p)
{
    uint64_t idle;
    struct vx_charge *c = vx_pool_reserve(p, vx_mem_round(r->bytes), &idle);
    if (!c && !vx_pool_exportable(p) && vx_cu_spill_bought(vx_pool_device(p)))
        return vx_cu_spill_alloc(vx_pool_device(p), r->out, r->bytes);
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult err = call(r);
    VX_CRASH("pool.called");
    if (err == CUDA_SUCCESS)
        return vx_cu_settle(c, err, VX_SPACE_MEMORY, *r->out);
    vx_pool_undo(c, idle);
    return err;
}

/* A pool on the host, on a foreign card, or one that we cannot place. */
static CUresult alloc_elsewhere(const struct request *r, int device)
{
    struct vx_charge *c;
    CUresult err = vx_cu_reserve(device, VX_MEMORY_DEVICE,
                                 vx_mem_round(r->bytes), &c);
    if (err != CUDA_SUCCESS)
        return err;
    err = call(r);
    return vx_cu_settle(c, err, VX_SPACE_MEMORY, err ? 0 : *r->out);
}

static CUresult alloc_async(const struct request *r)
{
    enum vx_mode mode = vx_cu_mode();
    if (mode == VX_REFUSE)
        return CUDA_ERROR_NO_DEVICE;
    if (mode == VX_PASS || !r->out || r->bytes == 0)
        return call(r);
    if (is_capturing(r->stream, r->per_thread)) {
        vx_cu_graph_memory_expect();
        return call(r);
    }
    CUmemoryPool from = r->from;
    int device = vx_cu_stream_device(r->stream);
    if (!from && device >= 0 &&
        vx_cu()->cuDeviceGetMemPool(&from, vx_cu_device_of(device)) !=
            CUDA_SUCCESS)
        from = NULL;
    struct vx_pool *p = vx_pool_of(from);
    if (p && vx_pool_device(p) >= 0)
        return alloc_from(r, p);
    return alloc_elsewhere(r, p ? vx_pool_device(p) : device);
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream)
{
    return alloc_async(&(struct request){out, bytes, NULL, stream, false});
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *out, size_t bytes, CUstream stream)
{
    return alloc_async(&(struct request){out, bytes, NULL, stream, true});
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes,
                                 CUmemoryPool from, CUstream stream)
{
    if (!from)
        return vx_cu()->cuMemAllocFromPoolAsync(out, bytes, from, stream);
    return alloc_async(&(struct request){out, bytes, from, stream, false});
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *out, size_t bytes,
                                      CUmemoryPool from, CUstream stream)
{
    if (!from)
        return vx_cu()->cuMemAllocFromPoolAsync_ptsz(out, bytes, from, stream);
    return alloc_async(&(struct request){out, bytes, from, stream, true});
}

typedef CUresult (*free_call)(CUdeviceptr, CUstream);

/* The driver has no stream-ordered free of managed memory: wait, then free. */
static CUresult free_managed(CUdeviceptr at, CUstream stream, bool per_thread)
{
    CUresult err = per_thread ? vx_cu()->cuStreamSynchronize_ptsz(stream)
                              : vx_cu()->cuStreamSynchronize(stream);
    return err == CUDA_SUCCESS ? vx_cu()->cuMemFree_v2(at) : err;
}

static CUresult free_async(free_call real, CUdeviceptr at, CUstream stream,
                           bool per_thread)
{
    if (!vx_cu_limits() || is_capturing(stream, per_thread))
        return real(at, stream);
    struct vx_charge *c = vx_cu_take(VX_SPACE_MEMORY, at);
    CUresult err = c && c->note == VX_NOTE_MANAGED
                       ? free_managed(at, stream, per_thread)
                       : real(at, stream);
    return vx_cu_freed(c, err, VX_SPACE_MEMORY, at);
}

CUresult cuMemFreeAsync(CUdeviceptr at, CUstream stream)
{
    return free_async(vx_cu()->cuMemFreeAsync, at, stream, false);
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr at, CUstream stream)
{
    return free_async(vx_cu()->cuMemFreeAsync_ptsz, at, stream, true);
}
