/* The entries for copies of one line. */
#include "copy.h"

#define HOST CU_MEMORYTYPE_HOST
#define DEVICE CU_MEMORYTYPE_DEVICE
#define ARRAY CU_MEMORYTYPE_ARRAY
#define UNIFIED CU_MEMORYTYPE_UNIFIED
#define ADDRESS(at) ((CUdeviceptr)(uintptr_t)(at))

static CUresult line(const char *call, enum vf_twin twin, enum vf_when when,
                     CUstream stream, CUmemorytype to_type, CUdeviceptr to,
                     CUmemorytype from_type, CUdeviceptr from, size_t bytes)
{
    CUDA_MEMCPY3D copy = vf_copy_line(to, from, bytes, to_type, from_type);
    return vf_copy(call, twin, when, stream, &copy);
}

/* From and to arrays: `to_at` and `from_at` are bytes into the row. */
static CUresult array_line(const char *call, enum vf_twin twin,
                           enum vf_when when, CUstream stream,
                           CUarray to_array, CUdeviceptr to, size_t to_at,
                           CUarray from_array, CUdeviceptr from,
                           size_t from_at, CUmemorytype other, size_t bytes)
{
    CUDA_MEMCPY3D copy = vf_copy_line(to, from, bytes, other, other);
    if (to_array) {
        copy.dstMemoryType = ARRAY;
        copy.dstArray = to_array;
        copy.dstXInBytes = to_at;
    }
    if (from_array) {
        copy.srcMemoryType = ARRAY;
        copy.srcArray = from_array;
        copy.srcXInBytes = from_at;
    }
    return vf_copy(call, twin, when, stream, &copy);
}

#define LINE(name, twin, when, to_type, to_decl, from_type, from_decl, size) \
    VF_EXPORT CUresult name(to_decl to, from_decl from, size bytes)          \
    {                                                                        \
        return line(#name, twin, when, NULL, to_type, ADDRESS(to),           \
                    from_type, ADDRESS(from), bytes);                        \
    }
#define LINE_IN(name, twin, to_type, to_decl, from_type, from_decl, size)    \
    VF_EXPORT CUresult name(to_decl to, from_decl from, size bytes,          \
                            CUstream stream)                                 \
    {                                                                        \
        return line(#name, twin, VF_ASYNC, stream, to_type, ADDRESS(to),     \
                    from_type, ADDRESS(from), bytes);                        \
    }
/* The first form, with 32-bit addresses, and the two of today. */
#define LINES(name, tt, td_old, td, ft, fd_old, fd)                          \
    LINE(name, VF_LEGACY, VF_WAIT, tt, td_old, ft, fd_old, unsigned)         \
    LINE(name##_v2, VF_LEGACY, VF_WAIT, tt, td, ft, fd, size_t)              \
    LINE(name##_v2_ptds, VF_PER_THREAD, VF_WAIT, tt, td, ft, fd, size_t)     \
    LINE_IN(name##Async, VF_LEGACY, tt, td_old, ft, fd_old, unsigned)        \
    LINE_IN(name##Async_v2, VF_LEGACY, tt, td, ft, fd, size_t)               \
    LINE_IN(name##Async_v2_ptsz, VF_PER_THREAD, tt, td, ft, fd, size_t)

typedef const void *source;
typedef void *target;
LINES(cuMemcpyHtoD, DEVICE, CUdeviceptr_v1, CUdeviceptr, HOST, source, source)
LINES(cuMemcpyDtoH, HOST, target, target, DEVICE, CUdeviceptr_v1, CUdeviceptr)
LINES(cuMemcpyDtoD, DEVICE, CUdeviceptr_v1, CUdeviceptr, DEVICE,
      CUdeviceptr_v1, CUdeviceptr)
LINE(cuMemcpy, VF_LEGACY, VF_WAIT, UNIFIED, CUdeviceptr, UNIFIED, CUdeviceptr,
     size_t)
LINE(cuMemcpy_ptds, VF_PER_THREAD, VF_WAIT, UNIFIED, CUdeviceptr, UNIFIED,
     CUdeviceptr, size_t)
LINE_IN(cuMemcpyAsync, VF_LEGACY, UNIFIED, CUdeviceptr, UNIFIED, CUdeviceptr,
        size_t)
LINE_IN(cuMemcpyAsync_ptsz, VF_PER_THREAD, UNIFIED, CUdeviceptr, UNIFIED,
        CUdeviceptr, size_t)

/* ---- between contexts -------------------------------------------------------- */

static CUresult peer(const char *call, enum vf_twin twin, enum vf_when when,
                     CUstream stream, CUdeviceptr to, CUcontext to_context,
                     CUdeviceptr from, CUcontext from_context, size_t bytes)
{
    if (!vf_context_card(to_context) || !vf_context_card(from_context))
        return CUDA_ERROR_INVALID_CONTEXT;
    return line(call, twin, when, stream, UNIFIED, to, UNIFIED, from, bytes);
}

#define PEER(name, twin)                                                     \
    VF_EXPORT CUresult name(CUdeviceptr to, CUcontext to_context,            \
                            CUdeviceptr from, CUcontext from_context,        \
                            size_t bytes)                                    \
    {                                                                        \
        return peer(#name, twin, VF_WAIT, NULL, to, to_context, from,        \
                    from_context, bytes);                                    \
    }
PEER(cuMemcpyPeer, VF_LEGACY)
PEER(cuMemcpyPeer_ptds, VF_PER_THREAD)
#define PEER_IN(name, twin)                                                  \
    VF_EXPORT CUresult name(CUdeviceptr to, CUcontext to_context,            \
                            CUdeviceptr from, CUcontext from_context,        \
                            size_t bytes, CUstream stream)                   \
    {                                                                        \
        return peer(#name, twin, VF_ASYNC, stream, to, to_context, from,     \
                    from_context, bytes);                                    \
    }
PEER_IN(cuMemcpyPeerAsync, VF_LEGACY)
PEER_IN(cuMemcpyPeerAsync_ptsz, VF_PER_THREAD)

/* ---- arrays -------------------------------------------------------------------- */

#define TO_ARRAY(name, twin, from_type, from_decl, size)                     \
    VF_EXPORT CUresult name(CUarray to, size at, from_decl from, size bytes) \
    {                                                                        \
        return array_line(#name, twin, VF_WAIT, NULL, to, 0, at, NULL,       \
                          ADDRESS(from), 0, from_type, bytes);               \
    }
TO_ARRAY(cuMemcpyDtoA, VF_LEGACY, DEVICE, CUdeviceptr_v1, unsigned)
TO_ARRAY(cuMemcpyDtoA_v2, VF_LEGACY, DEVICE, CUdeviceptr, size_t)
TO_ARRAY(cuMemcpyDtoA_v2_ptds, VF_PER_THREAD, DEVICE, CUdeviceptr, size_t)
TO_ARRAY(cuMemcpyHtoA, VF_LEGACY, HOST, source, unsigned)
TO_ARRAY(cuMemcpyHtoA_v2, VF_LEGACY, HOST, source, size_t)
TO_ARRAY(cuMemcpyHtoA_v2_ptds, VF_PER_THREAD, HOST, source, size_t)

#define FROM_ARRAY(name, twin, to_type, to_decl, size)                       \
    VF_EXPORT CUresult name(to_decl to, CUarray from, size at, size bytes)   \
    {                                                                        \
        return array_line(#name, twin, VF_WAIT, NULL, NULL, ADDRESS(to), 0,  \
                          from, 0, at, to_type, bytes);                      \
    }
FROM_ARRAY(cuMemcpyAtoD, VF_LEGACY, DEVICE, CUdeviceptr_v1, unsigned)
FROM_ARRAY(cuMemcpyAtoD_v2, VF_LEGACY, DEVICE, CUdeviceptr, size_t)
FROM_ARRAY(cuMemcpyAtoD_v2_ptds, VF_PER_THREAD, DEVICE, CUdeviceptr, size_t)
FROM_ARRAY(cuMemcpyAtoH, VF_LEGACY, HOST, target, unsigned)
FROM_ARRAY(cuMemcpyAtoH_v2, VF_LEGACY, HOST, target, size_t)
FROM_ARRAY(cuMemcpyAtoH_v2_ptds, VF_PER_THREAD, HOST, target, size_t)

#define ARRAY_ARRAY(name, twin, size)                                        \
    VF_EXPORT CUresult name(CUarray to, size to_at, CUarray from,            \
                            size from_at, size bytes)                        \
    {                                                                        \
        return array_line(#name, twin, VF_WAIT, NULL, to, 0, to_at, from, 0, \
                          from_at, DEVICE, bytes);                           \
    }
ARRAY_ARRAY(cuMemcpyAtoA, VF_LEGACY, unsigned)
ARRAY_ARRAY(cuMemcpyAtoA_v2, VF_LEGACY, size_t)
ARRAY_ARRAY(cuMemcpyAtoA_v2_ptds, VF_PER_THREAD, size_t)

#define ARRAY_IN(name, twin, size)                                           \
    VF_EXPORT CUresult name(CUarray to, size at, source from, size bytes,    \
                            CUstream stream)                                 \
    {                                                                        \
        return array_line(#name, twin, VF_ASYNC, stream, to, 0, at, NULL,    \
                          ADDRESS(from), 0, HOST, bytes);                    \
    }
ARRAY_IN(cuMemcpyHtoAAsync, VF_LEGACY, unsigned)
ARRAY_IN(cuMemcpyHtoAAsync_v2, VF_LEGACY, size_t)
ARRAY_IN(cuMemcpyHtoAAsync_v2_ptsz, VF_PER_THREAD, size_t)

#define ARRAY_OUT(name, twin, size)                                          \
    VF_EXPORT CUresult name(target to, CUarray from, size at, size bytes,    \
                            CUstream stream)                                 \
    {                                                                        \
        return array_line(#name, twin, VF_ASYNC, stream, NULL, ADDRESS(to),  \
                          0, from, 0, at, HOST, bytes);                      \
    }
ARRAY_OUT(cuMemcpyAtoHAsync, VF_LEGACY, unsigned)
ARRAY_OUT(cuMemcpyAtoHAsync_v2, VF_LEGACY, size_t)
ARRAY_OUT(cuMemcpyAtoHAsync_v2_ptsz, VF_PER_THREAD, size_t)

/* ---- several at once --------------------------------------------------------------- */

#define ATTRIBUTES(name, twin)                                               \
    VF_EXPORT CUresult name(CUdeviceptr to, CUdeviceptr from, size_t bytes,  \
                            CUmemcpyAttributes *attributes, CUstream stream) \
    {                                                                        \
        return !attributes ? CUDA_ERROR_INVALID_VALUE                        \
                           : line(#name, twin, VF_ASYNC, stream, UNIFIED,    \
                                  to, UNIFIED, from, bytes);                 \
    }
ATTRIBUTES(cuMemcpyWithAttributesAsync, VF_LEGACY)
ATTRIBUTES(cuMemcpyWithAttributesAsync_ptsz, VF_PER_THREAD)

static CUresult batch(const char *call, enum vf_twin twin, CUdeviceptr *to,
                      CUdeviceptr *from, const size_t *bytes, size_t count,
                      size_t *failed, CUstream stream)
{
    if (!to || !from || !bytes || !count || stream == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        CUresult r = line(call, twin, VF_ASYNC, stream, UNIFIED, to[i],
                          UNIFIED, from[i], bytes[i]);
        if (r && failed)
            *failed = i;
        if (r)
            return r;
    }
    return CUDA_SUCCESS;
}

#define BATCH_ARGS CUdeviceptr *to, CUdeviceptr *from, size_t *bytes,        \
                   size_t count, CUmemcpyAttributes *attributes,             \
                   size_t *which, size_t attribute_count
#define BATCH(name, twin)                                                    \
    VF_EXPORT CUresult name(BATCH_ARGS, size_t *failed, CUstream stream)     \
    {                                                                        \
        (void)attributes, (void)which, (void)attribute_count;                \
        return batch(#name, twin, to, from, bytes, count, failed, stream);   \
    }
#define BATCH_V2(name, twin)                                                 \
    VF_EXPORT CUresult name(BATCH_ARGS, CUstream stream)                     \
    {                                                                        \
        (void)attributes, (void)which, (void)attribute_count;                \
        return batch(#name, twin, to, from, bytes, count, NULL, stream);     \
    }
BATCH(cuMemcpyBatchAsync, VF_LEGACY)
BATCH(cuMemcpyBatchAsync_ptsz, VF_PER_THREAD)
BATCH_V2(cuMemcpyBatchAsync_v2, VF_LEGACY)
BATCH_V2(cuMemcpyBatchAsync_v2_ptsz, VF_PER_THREAD)
