/*
 * Class G: copies and fills. What crosses the bus takes from the slice's
 * share of copies; what stays on the card (a fill, device to device) is
 * device work like a kernel and passes the same gate. One line an ABI name.
 */
#include "cu_gate.h"
#include "cu_real.h"

enum how {
    BUS,  /* over the bus, comes back before it is done */
    WAIT, /* over the bus, the caller waits for it */
    CARD  /* on the card */
};

static uint64_t card_key(uint64_t bytes)
{
    return vx_cost_key((void *)(uintptr_t)(1ULL << 51), bytes >> 12, 1);
}

static CUresult begin(enum how how, CUstream stream, uint64_t bytes,
                      enum vx_turn *turn)
{
    *turn = VX_TURN_FREE;
    if (how == CARD)
        return vx_gate_quick(stream, card_key(bytes))
                   ? CUDA_SUCCESS
                   : vx_gate_enter(stream, card_key(bytes), turn);
    CUresult err = vx_gate_copy(stream, bytes);
    if (err == CUDA_SUCCESS && how == WAIT)
        vx_gate_before_sync();
    else if (err == CUDA_SUCCESS)
        vx_gate_interrupt(stream);
    return err;
}

static CUresult end(enum how how, CUstream stream, enum vx_turn turn,
                    CUresult err)
{
    vx_gate_leave(stream, turn);
    if (how == WAIT)
        vx_gate_after_sync();
    return err;
}

#define COPY(name, how, per_thread, stream, bytes, params, ...)        \
    CUresult name params                                               \
    {                                                                  \
        enum vx_turn turn;                                             \
        CUstream own = vx_stream(stream, per_thread);                  \
        CUresult err = begin(how, own, bytes, &turn);                  \
        if (err != CUDA_SUCCESS)                                       \
            return err;                                                \
        return end(how, own, turn, vx_cu()->name(__VA_ARGS__));        \
    }

/* (to, from, bytes) */
#define LINE(name, how, pt, To, From, N) \
    COPY(name, how, pt, NULL, n, (To a, From b, N n), a, b, n)
#define LINE_ASYNC(name, how, pt, To, From, N) \
    COPY(name, how, pt, s, n, (To a, From b, N n, CUstream s), a, b, n, s)

LINE(cuMemcpy, WAIT, 0, CUdeviceptr, CUdeviceptr, size_t)
LINE(cuMemcpy_ptds, WAIT, 1, CUdeviceptr, CUdeviceptr, size_t)
LINE_ASYNC(cuMemcpyAsync, BUS, 0, CUdeviceptr, CUdeviceptr, size_t)
LINE_ASYNC(cuMemcpyAsync_ptsz, BUS, 1, CUdeviceptr, CUdeviceptr, size_t)
LINE(cuMemcpyHtoD, WAIT, 0, CUdeviceptr_v1, const void *, unsigned)
LINE(cuMemcpyHtoD_v2, WAIT, 0, CUdeviceptr, const void *, size_t)
LINE(cuMemcpyHtoD_v2_ptds, WAIT, 1, CUdeviceptr, const void *, size_t)
LINE_ASYNC(cuMemcpyHtoDAsync, BUS, 0, CUdeviceptr_v1, const void *, unsigned)
LINE_ASYNC(cuMemcpyHtoDAsync_v2, BUS, 0, CUdeviceptr, const void *, size_t)
LINE_ASYNC(cuMemcpyHtoDAsync_v2_ptsz, BUS, 1, CUdeviceptr, const void *, size_t)
LINE(cuMemcpyDtoH, WAIT, 0, void *, CUdeviceptr_v1, unsigned)
LINE(cuMemcpyDtoH_v2, WAIT, 0, void *, CUdeviceptr, size_t)
LINE(cuMemcpyDtoH_v2_ptds, WAIT, 1, void *, CUdeviceptr, size_t)
LINE_ASYNC(cuMemcpyDtoHAsync, BUS, 0, void *, CUdeviceptr_v1, unsigned)
LINE_ASYNC(cuMemcpyDtoHAsync_v2, BUS, 0, void *, CUdeviceptr, size_t)
LINE_ASYNC(cuMemcpyDtoHAsync_v2_ptsz, BUS, 1, void *, CUdeviceptr, size_t)
LINE(cuMemcpyDtoD, CARD, 0, CUdeviceptr_v1, CUdeviceptr_v1, unsigned)
LINE(cuMemcpyDtoD_v2, CARD, 0, CUdeviceptr, CUdeviceptr, size_t)
LINE(cuMemcpyDtoD_v2_ptds, CARD, 1, CUdeviceptr, CUdeviceptr, size_t)
LINE_ASYNC(cuMemcpyDtoDAsync, CARD, 0, CUdeviceptr_v1, CUdeviceptr_v1, unsigned)
LINE_ASYNC(cuMemcpyDtoDAsync_v2, CARD, 0, CUdeviceptr, CUdeviceptr, size_t)
LINE_ASYNC(cuMemcpyDtoDAsync_v2_ptsz, CARD, 1, CUdeviceptr, CUdeviceptr, size_t)

/* An array and an offset on the left, on the right, on both sides. */
#define ARRAY_LEFT(name, how, pt, N, From) \
    COPY(name, how, pt, NULL, n, (CUarray a, N o, From b, N n), a, o, b, n)
#define ARRAY_LEFT_ASYNC(name, how, pt, N, From)                             \
    COPY(name, how, pt, s, n, (CUarray a, N o, From b, N n, CUstream s), a, o, \
         b, n, s)
#define ARRAY_RIGHT(name, how, pt, To, N) \
    COPY(name, how, pt, NULL, n, (To a, CUarray b, N o, N n), a, b, o, n)
#define ARRAY_RIGHT_ASYNC(name, how, pt, To, N)                            \
    COPY(name, how, pt, s, n, (To a, CUarray b, N o, N n, CUstream s), a, b, \
         o, n, s)
#define ARRAYS(name, pt, N)                                                  \
    COPY(name, CARD, pt, NULL, n, (CUarray a, N o, CUarray b, N p, N n), a, o, \
         b, p, n)

ARRAY_LEFT(cuMemcpyDtoA, CARD, 0, unsigned, CUdeviceptr_v1)
ARRAY_LEFT(cuMemcpyDtoA_v2, CARD, 0, size_t, CUdeviceptr)
ARRAY_LEFT(cuMemcpyDtoA_v2_ptds, CARD, 1, size_t, CUdeviceptr)
ARRAY_LEFT(cuMemcpyHtoA, WAIT, 0, unsigned, const void *)
ARRAY_LEFT(cuMemcpyHtoA_v2, WAIT, 0, size_t, const void *)
ARRAY_LEFT(cuMemcpyHtoA_v2_ptds, WAIT, 1, size_t, const void *)
ARRAY_LEFT_ASYNC(cuMemcpyHtoAAsync, BUS, 0, unsigned, const void *)
ARRAY_LEFT_ASYNC(cuMemcpyHtoAAsync_v2, BUS, 0, size_t, const void *)
ARRAY_LEFT_ASYNC(cuMemcpyHtoAAsync_v2_ptsz, BUS, 1, size_t, const void *)
ARRAY_RIGHT(cuMemcpyAtoD, CARD, 0, CUdeviceptr_v1, unsigned)
ARRAY_RIGHT(cuMemcpyAtoD_v2, CARD, 0, CUdeviceptr, size_t)
ARRAY_RIGHT(cuMemcpyAtoD_v2_ptds, CARD, 1, CUdeviceptr, size_t)
ARRAY_RIGHT(cuMemcpyAtoH, WAIT, 0, void *, unsigned)
ARRAY_RIGHT(cuMemcpyAtoH_v2, WAIT, 0, void *, size_t)
ARRAY_RIGHT(cuMemcpyAtoH_v2_ptds, WAIT, 1, void *, size_t)
ARRAY_RIGHT_ASYNC(cuMemcpyAtoHAsync, BUS, 0, void *, unsigned)
ARRAY_RIGHT_ASYNC(cuMemcpyAtoHAsync_v2, BUS, 0, void *, size_t)
ARRAY_RIGHT_ASYNC(cuMemcpyAtoHAsync_v2_ptsz, BUS, 1, void *, size_t)
ARRAYS(cuMemcpyAtoA, 0, unsigned)
ARRAYS(cuMemcpyAtoA_v2, 0, size_t)
ARRAYS(cuMemcpyAtoA_v2_ptds, 1, size_t)

/* By description: both sides on the card, or over the bus. */
#define ON_CARD(type) ((type) == CU_MEMORYTYPE_DEVICE || (type) == CU_MEMORYTYPE_ARRAY)
#define HOW(p, bus) \
    (p && ON_CARD(p->srcMemoryType) && ON_CARD(p->dstMemoryType) ? CARD : bus)
#define AREA(p) (p ? (uint64_t)p->WidthInBytes * p->Height : 0)
#define ROOM(p) (p ? AREA(p) * p->Depth : 0)
#define SHAPE(name, pt, size, T) \
    COPY(name, HOW(p, WAIT), pt, NULL, size(p), (const T *p), p)
#define SHAPE_ASYNC(name, pt, size, T) \
    COPY(name, HOW(p, BUS), pt, s, size(p), (const T *p, CUstream s), p, s)

SHAPE(cuMemcpy2D, 0, AREA, CUDA_MEMCPY2D_v1)
SHAPE(cuMemcpy2D_v2, 0, AREA, CUDA_MEMCPY2D)
SHAPE(cuMemcpy2D_v2_ptds, 1, AREA, CUDA_MEMCPY2D)
SHAPE(cuMemcpy2DUnaligned, 0, AREA, CUDA_MEMCPY2D_v1)
SHAPE(cuMemcpy2DUnaligned_v2, 0, AREA, CUDA_MEMCPY2D)
SHAPE(cuMemcpy2DUnaligned_v2_ptds, 1, AREA, CUDA_MEMCPY2D)
SHAPE_ASYNC(cuMemcpy2DAsync, 0, AREA, CUDA_MEMCPY2D_v1)
SHAPE_ASYNC(cuMemcpy2DAsync_v2, 0, AREA, CUDA_MEMCPY2D)
SHAPE_ASYNC(cuMemcpy2DAsync_v2_ptsz, 1, AREA, CUDA_MEMCPY2D)
SHAPE(cuMemcpy3D, 0, ROOM, CUDA_MEMCPY3D_v1)
SHAPE(cuMemcpy3D_v2, 0, ROOM, CUDA_MEMCPY3D)
SHAPE(cuMemcpy3D_v2_ptds, 1, ROOM, CUDA_MEMCPY3D)
SHAPE_ASYNC(cuMemcpy3DAsync, 0, ROOM, CUDA_MEMCPY3D_v1)
SHAPE_ASYNC(cuMemcpy3DAsync_v2, 0, ROOM, CUDA_MEMCPY3D)
SHAPE_ASYNC(cuMemcpy3DAsync_v2_ptsz, 1, ROOM, CUDA_MEMCPY3D)

/* Between cards: over the bus (or NVLink), not waited for. */
#define PEER_PARAMS CUdeviceptr a, CUcontext to, CUdeviceptr b, CUcontext from, size_t n
COPY(cuMemcpyPeer, BUS, 0, NULL, n, (PEER_PARAMS), a, to, b, from, n)
COPY(cuMemcpyPeer_ptds, BUS, 1, NULL, n, (PEER_PARAMS), a, to, b, from, n)
COPY(cuMemcpyPeerAsync, BUS, 0, s, n, (PEER_PARAMS, CUstream s), a, to, b, from, n, s)
COPY(cuMemcpyPeerAsync_ptsz, BUS, 1, s, n, (PEER_PARAMS, CUstream s), a, to, b, from, n, s)
COPY(cuMemcpy3DPeer, BUS, 0, NULL, ROOM(p), (const CUDA_MEMCPY3D_PEER *p), p)
COPY(cuMemcpy3DPeer_ptds, BUS, 1, NULL, ROOM(p), (const CUDA_MEMCPY3D_PEER *p), p)
COPY(cuMemcpy3DPeerAsync, BUS, 0, s, ROOM(p), (const CUDA_MEMCPY3D_PEER *p, CUstream s), p, s)
COPY(cuMemcpy3DPeerAsync_ptsz, BUS, 1, s, ROOM(p), (const CUDA_MEMCPY3D_PEER *p, CUstream s), p, s)

/* Many at once: which side is which is the driver's to find out. */
static uint64_t sum(const size_t *sizes, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; sizes && i < count; i++)
        bytes += sizes[i];
    return bytes;
}

static uint64_t room(const CUDA_MEMCPY3D_BATCH_OP *ops, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; ops && i < count; i++)
        bytes += (uint64_t)ops[i].extent.width * ops[i].extent.height *
                 ops[i].extent.depth;
    return bytes;
}

static uint64_t across(const CUDA_FABRIC_COPY_BATCH_OP *ops, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; ops && i < count; i++)
        bytes += ops[i].size;
    return bytes;
}

#define LIST_PARAMS                                                      \
    CUdeviceptr *a, CUdeviceptr *b, size_t *sizes, size_t count,         \
        CUmemcpyAttributes *attrs, size_t *which, size_t attr_count
#define LIST_ARGS a, b, sizes, count, attrs, which, attr_count
COPY(cuMemcpyBatchAsync, BUS, 0, s, sum(sizes, count), (LIST_PARAMS, size_t *failed, CUstream s), LIST_ARGS, failed, s)
COPY(cuMemcpyBatchAsync_ptsz, BUS, 1, s, sum(sizes, count), (LIST_PARAMS, size_t *failed, CUstream s), LIST_ARGS, failed, s)
COPY(cuMemcpyBatchAsync_v2, BUS, 0, s, sum(sizes, count), (LIST_PARAMS, CUstream s), LIST_ARGS, s)
COPY(cuMemcpyBatchAsync_v2_ptsz, BUS, 1, s, sum(sizes, count), (LIST_PARAMS, CUstream s), LIST_ARGS, s)
#define OPS_PARAMS size_t count, CUDA_MEMCPY3D_BATCH_OP *ops
COPY(cuMemcpy3DBatchAsync, BUS, 0, s, room(ops, count), (OPS_PARAMS, size_t *failed, unsigned long long flags, CUstream s), count, ops, failed, flags, s)
COPY(cuMemcpy3DBatchAsync_ptsz, BUS, 1, s, room(ops, count), (OPS_PARAMS, size_t *failed, unsigned long long flags, CUstream s), count, ops, failed, flags, s)
COPY(cuMemcpy3DBatchAsync_v2, BUS, 0, s, room(ops, count), (OPS_PARAMS, unsigned long long flags, CUstream s), count, ops, flags, s)
COPY(cuMemcpy3DBatchAsync_v2_ptsz, BUS, 1, s, room(ops, count), (OPS_PARAMS, unsigned long long flags, CUstream s), count, ops, flags, s)
COPY(cuMemcpy3DWithAttributesAsync, BUS, 0, s, room(op, 1), (CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags, CUstream s), op, flags, s)
COPY(cuMemcpy3DWithAttributesAsync_ptsz, BUS, 1, s, room(op, 1), (CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags, CUstream s), op, flags, s)
#define WITH_PARAMS (CUdeviceptr a, CUdeviceptr b, size_t n, CUmemcpyAttributes *attr, CUstream s)
COPY(cuMemcpyWithAttributesAsync, BUS, 0, s, n, WITH_PARAMS, a, b, n, attr, s)
COPY(cuMemcpyWithAttributesAsync_ptsz, BUS, 1, s, n, WITH_PARAMS, a, b, n, attr, s)
#define FABRIC_PARAMS (size_t count, CUDA_FABRIC_COPY_BATCH_OP *ops, unsigned long long flags, CUstream s)
COPY(cuFabricCpyBatchAsync, BUS, 0, s, across(ops, count), FABRIC_PARAMS, count, ops, flags, s)
COPY(cuFabricCpyBatchAsync_ptsz, BUS, 1, s, across(ops, count), FABRIC_PARAMS, count, ops, flags, s)

/* Fills. */
#define FILLS(bits, V)                                                          \
    COPY(cuMemsetD##bits, CARD, 0, NULL, (uint64_t)n * sizeof v, (CUdeviceptr_v1 p, V v, unsigned n), p, v, n) \
    COPY(cuMemsetD##bits##_v2, CARD, 0, NULL, n * sizeof v, (CUdeviceptr p, V v, size_t n), p, v, n) \
    COPY(cuMemsetD##bits##_v2_ptds, CARD, 1, NULL, n * sizeof v, (CUdeviceptr p, V v, size_t n), p, v, n) \
    COPY(cuMemsetD##bits##Async, CARD, 0, s, n * sizeof v, (CUdeviceptr p, V v, size_t n, CUstream s), p, v, n, s) \
    COPY(cuMemsetD##bits##Async_ptsz, CARD, 1, s, n * sizeof v, (CUdeviceptr p, V v, size_t n, CUstream s), p, v, n, s) \
    COPY(cuMemsetD2D##bits, CARD, 0, NULL, (uint64_t)w * h * sizeof v, (CUdeviceptr_v1 p, unsigned pitch, V v, unsigned w, unsigned h), p, pitch, v, w, h) \
    COPY(cuMemsetD2D##bits##_v2, CARD, 0, NULL, w * h * sizeof v, (CUdeviceptr p, size_t pitch, V v, size_t w, size_t h), p, pitch, v, w, h) \
    COPY(cuMemsetD2D##bits##_v2_ptds, CARD, 1, NULL, w * h * sizeof v, (CUdeviceptr p, size_t pitch, V v, size_t w, size_t h), p, pitch, v, w, h) \
    COPY(cuMemsetD2D##bits##Async, CARD, 0, s, w * h * sizeof v, (CUdeviceptr p, size_t pitch, V v, size_t w, size_t h, CUstream s), p, pitch, v, w, h, s) \
    COPY(cuMemsetD2D##bits##Async_ptsz, CARD, 1, s, w * h * sizeof v, (CUdeviceptr p, size_t pitch, V v, size_t w, size_t h, CUstream s), p, pitch, v, w, h, s)
FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned int)

/* Managed memory moves over the bus as well. */
COPY(cuMemPrefetchAsync, BUS, 0, s, n, (CUdeviceptr p, size_t n, CUdevice to, CUstream s), p, n, to, s)
COPY(cuMemPrefetchAsync_ptsz, BUS, 1, s, n, (CUdeviceptr p, size_t n, CUdevice to, CUstream s), p, n, to, s)
COPY(cuMemPrefetchAsync_v2, BUS, 0, s, n, (CUdeviceptr p, size_t n, CUmemLocation to, unsigned f, CUstream s), p, n, to, f, s)
COPY(cuMemPrefetchAsync_v2_ptsz, BUS, 1, s, n, (CUdeviceptr p, size_t n, CUmemLocation to, unsigned f, CUstream s), p, n, to, f, s)
#define MOVES_PARAMS                                                         \
    (CUdeviceptr * p, size_t *sizes, size_t count, CUmemLocation *to,        \
     size_t *which, size_t places, unsigned long long f, CUstream s)
#define MOVES(name, pt) \
    COPY(name, BUS, pt, s, sum(sizes, count), MOVES_PARAMS, p, sizes, count, to, which, places, f, s)
MOVES(cuMemPrefetchBatchAsync, 0)
MOVES(cuMemPrefetchBatchAsync_ptsz, 1)
MOVES(cuMemDiscardAndPrefetchBatchAsync, 0)
MOVES(cuMemDiscardAndPrefetchBatchAsync_ptsz, 1)

/* The card unpacks. */
static uint64_t unpacked(const CUmemDecompressParams *all, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; all && i < count; i++)
        bytes += all[i].dstNumBytes;
    return bytes;
}

#define UNPACK_PARAMS (CUmemDecompressParams * all, size_t count, unsigned f, size_t *failed, CUstream s)
COPY(cuMemBatchDecompressAsync, CARD, 0, s, unpacked(all, count), UNPACK_PARAMS, all, count, f, failed, s)
COPY(cuMemBatchDecompressAsync_ptsz, CARD, 1, s, unpacked(all, count), UNPACK_PARAMS, all, count, f, failed, s)
