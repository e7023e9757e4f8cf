/* Host functions, callbacks, and waits for and writes of values in memory. */
#include <string.h>

#include "capture.h"
#include "memory.h"

struct call {
    CUhostFn fn;
    CUstreamCallback callback;
    CUstream stream;
    void *data;
};

static void run_call(void *arg)
{
    struct call call = *(struct call *)arg;
    if (call.fn)
        call.fn(call.data);
    else
        call.callback(call.stream, CUDA_SUCCESS, call.data);
}

static CUresult enqueue_call(struct CUstream_st *stream, struct call *call)
{
    struct vf_work work = {.command = {.kind = VF_HOST, .effect = run_call,
                                       .arg = call, .copy_arg = sizeof *call,
                                       .on_thread = true}};
    return vf_submit(stream, &work, NULL);
}

CUresult vf_host_call(struct CUstream_st *stream, CUhostFn fn, void *data)
{
    struct call call = {.fn = fn, .data = data};
    return enqueue_call(stream, &call);
}

static CUresult launch_host(const char *call, enum vf_twin twin,
                            CUstream handle, CUhostFn fn, void *data)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (r || !fn)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_HOST,
                              .host = {.fn = fn, .userData = data}};
    if (vf_capture_node(stream, &node, &r))
        return r;
    return vf_host_call(stream, fn, data);
}

VF_TWINS(cuLaunchHostFunc, _ptsz, (CUstream stream, CUhostFn fn, void *data),
         launch_host, stream, fn, data)

#define HOST_V2(name, twin)                                                \
    VF_EXPORT CUresult name(CUstream stream, CUhostFn fn, void *data,      \
                            unsigned mode)                                 \
    {                                                                      \
        return mode > 1 ? CUDA_ERROR_INVALID_VALUE                         \
                        : launch_host("cuLaunchHostFunc", twin, stream,    \
                                      fn, data);                           \
    }
HOST_V2(cuLaunchHostFunc_v2, VF_LEGACY)
HOST_V2(cuLaunchHostFunc_v2_ptsz, VF_PER_THREAD)

static CUresult add_callback(const char *name, enum vf_twin twin,
                             CUstream handle, CUstreamCallback callback,
                             void *data, unsigned flags)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(name, handle, twin, &stream);
    if (r)
        return r;
    if (!callback || flags)
        return CUDA_ERROR_INVALID_VALUE;
    struct call call = {.callback = callback, .stream = handle, .data = data};
    return enqueue_call(stream, &call);
}

VF_TWINS(cuStreamAddCallback, _ptsz,
         (CUstream stream, CUstreamCallback callback, void *data,
          unsigned flags),
         add_callback, stream, callback, data, flags)

/* ---- values -------------------------------------------------------------- */

struct value {
    uint64_t address, value;
    unsigned compare;
    bool wide;
};

static bool holds(void *arg)
{
    const struct value *v = arg;
    uint64_t now, wanted = v->value;
    bool reached;
    if (v->wide) {
        now = __atomic_load_n((uint64_t *)(uintptr_t)v->address,
                              __ATOMIC_ACQUIRE);
        reached = (int64_t)(now - wanted) >= 0;
    } else {
        now = __atomic_load_n((uint32_t *)(uintptr_t)v->address,
                              __ATOMIC_ACQUIRE);
        reached = (int32_t)((uint32_t)now - (uint32_t)wanted) >= 0;
        wanted = (uint32_t)wanted;
    }
    switch (v->compare) {
    case CU_STREAM_WAIT_VALUE_EQ: return now == wanted;
    case CU_STREAM_WAIT_VALUE_AND: return (now & wanted) != 0;
    case CU_STREAM_WAIT_VALUE_NOR:
        return (v->wide ? ~(now | wanted)
                        : (uint32_t)~(uint32_t)(now | wanted)) != 0;
    default: return reached;
    }
}

static void write_value(void *arg)
{
    const struct value *v = arg;
    if (v->wide)
        __atomic_store_n((uint64_t *)(uintptr_t)v->address, v->value,
                         __ATOMIC_RELEASE);
    else
        __atomic_store_n((uint32_t *)(uintptr_t)v->address,
                         (uint32_t)v->value, __ATOMIC_RELEASE);
}

CUresult vf_value_op(struct CUstream_st *stream,
                     const CUstreamBatchMemOpParams *op)
{
    struct vf_range range;
    CUstreamBatchMemOpType type = op->operation;
    if (type == CU_STREAM_MEM_OP_BARRIER ||
        type == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES)
        return CUDA_SUCCESS;
    struct value v = {op->waitValue.address, op->waitValue.value64,
                      op->waitValue.flags & 3, type >= 4};
    bool waits = type == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
                 type == CU_STREAM_MEM_OP_WAIT_VALUE_64;
    if (!waits && type != CU_STREAM_MEM_OP_WRITE_VALUE_32 &&
        type != CU_STREAM_MEM_OP_WRITE_VALUE_64)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (v.address % (v.wide ? 8 : 4) || !vf_describe(v.address, &range))
        return CUDA_ERROR_INVALID_VALUE;
    struct vf_work work = {.command = {.kind = VF_MARK,
                                       .effect = write_value, .arg = &v,
                                       .copy_arg = sizeof v}};
    if (waits)
        work.command = (struct vf_command){.kind = VF_HOST, .ready = holds,
                                           .arg = &v, .copy_arg = sizeof v};
    return vf_submit(stream, &work, NULL);
}

static CUresult batch(const char *call, enum vf_twin twin, CUstream handle,
                      unsigned count, CUstreamBatchMemOpParams *ops,
                      unsigned flags)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (r)
        return r;
    if (!ops || count == 0 || count > 256 || flags)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams node = {
        .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
        .memOp = {.count = count, .paramArray = ops}};
    if (vf_capture_node(stream, &node, &r))
        return r;
    for (unsigned i = 0; i < count && !r; i++)
        r = vf_value_op(stream, &ops[i]);
    return r;
}

#define BATCH(name, twin)                                               \
    VF_EXPORT CUresult name(CUstream stream, unsigned count,            \
                            CUstreamBatchMemOpParams *ops,              \
                            unsigned flags)                             \
    {                                                                   \
        return batch("cuStreamBatchMemOp", twin, stream, count, ops,    \
                     flags);                                            \
    }
BATCH(cuStreamBatchMemOp, VF_LEGACY)
BATCH(cuStreamBatchMemOp_ptsz, VF_PER_THREAD)
BATCH(cuStreamBatchMemOp_v2, VF_LEGACY)
BATCH(cuStreamBatchMemOp_v2_ptsz, VF_PER_THREAD)

#define VALUE(name, call, type, kind, twin)                             \
    VF_EXPORT CUresult name(CUstream stream, CUdeviceptr address,       \
                            type value, unsigned flags)                 \
    {                                                                   \
        CUstreamBatchMemOpParams op = {                                 \
            .waitValue = {.operation = kind, .address = address,        \
                          .value64 = value, .flags = flags}};           \
        return batch(call, twin, stream, 1, &op, 0);                    \
    }
#define VALUES(name, type, kind)                                        \
    VALUE(name, #name, type, kind, VF_LEGACY)                           \
    VALUE(name##_ptsz, #name, type, kind, VF_PER_THREAD)                \
    VALUE(name##_v2, #name, type, kind, VF_LEGACY)                      \
    VALUE(name##_v2_ptsz, #name, type, kind, VF_PER_THREAD)
VALUES(cuStreamWaitValue32, cuuint32_t, CU_STREAM_MEM_OP_WAIT_VALUE_32)
VALUES(cuStreamWaitValue64, cuuint64_t, CU_STREAM_MEM_OP_WAIT_VALUE_64)
VALUES(cuStreamWriteValue32, cuuint32_t, CU_STREAM_MEM_OP_WRITE_VALUE_32)
VALUES(cuStreamWriteValue64, cuuint64_t, CU_STREAM_MEM_OP_WRITE_VALUE_64)
