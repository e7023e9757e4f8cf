/* The entries for copies in two and three dimensions. */
#include "copy.h"

#define SHAPE_FIELDS(to, from)                                     \
    to.srcXInBytes = from->srcXInBytes, to.srcY = from->srcY,      \
    to.srcMemoryType = from->srcMemoryType,                        \
    to.srcHost = from->srcHost, to.srcDevice = from->srcDevice,    \
    to.srcArray = from->srcArray, to.srcPitch = from->srcPitch,    \
    to.dstXInBytes = from->dstXInBytes, to.dstY = from->dstY,      \
    to.dstMemoryType = from->dstMemoryType,                        \
    to.dstHost = from->dstHost, to.dstDevice = from->dstDevice,    \
    to.dstArray = from->dstArray, to.dstPitch = from->dstPitch,    \
    to.WidthInBytes = from->WidthInBytes, to.Height = from->Height
#define SOLID_FIELDS(to, from)                                     \
    to.srcZ = from->srcZ, to.srcLOD = from->srcLOD,                \
    to.srcHeight = from->srcHeight, to.dstZ = from->dstZ,          \
    to.dstLOD = from->dstLOD, to.dstHeight = from->dstHeight,      \
    to.Depth = from->Depth

#define FLAT(name, type, twin, when, ...)                          \
    VF_EXPORT CUresult name(const type *from __VA_ARGS__)          \
    {                                                              \
        CUDA_MEMCPY3D copy = {.Depth = 1};                         \
        if (!from)                                                 \
            return CUDA_ERROR_INVALID_VALUE;                       \
        SHAPE_FIELDS(copy, from);                                  \
        return vf_copy(#name, twin, when, STREAM, &copy);          \
    }
#define SOLID(name, type, twin, when, ...)                         \
    VF_EXPORT CUresult name(const type *from __VA_ARGS__)          \
    {                                                              \
        CUDA_MEMCPY3D copy = {.Depth = 1};                         \
        if (!from)                                                 \
            return CUDA_ERROR_INVALID_VALUE;                       \
        SHAPE_FIELDS(copy, from);                                  \
        SOLID_FIELDS(copy, from);                                  \
        return vf_copy(#name, twin, when, STREAM, &copy);          \
    }

#define STREAM NULL
FLAT(cuMemcpy2D, CUDA_MEMCPY2D_v1, VF_LEGACY, VF_WAIT)
FLAT(cuMemcpy2D_v2, CUDA_MEMCPY2D, VF_LEGACY, VF_WAIT)
FLAT(cuMemcpy2D_v2_ptds, CUDA_MEMCPY2D, VF_PER_THREAD, VF_WAIT)
FLAT(cuMemcpy2DUnaligned, CUDA_MEMCPY2D_v1, VF_LEGACY, VF_WAIT)
FLAT(cuMemcpy2DUnaligned_v2, CUDA_MEMCPY2D, VF_LEGACY, VF_WAIT)
FLAT(cuMemcpy2DUnaligned_v2_ptds, CUDA_MEMCPY2D, VF_PER_THREAD, VF_WAIT)
SOLID(cuMemcpy3D, CUDA_MEMCPY3D_v1, VF_LEGACY, VF_WAIT)
SOLID(cuMemcpy3D_v2, CUDA_MEMCPY3D, VF_LEGACY, VF_WAIT)
SOLID(cuMemcpy3D_v2_ptds, CUDA_MEMCPY3D, VF_PER_THREAD, VF_WAIT)
SOLID(cuMemcpy3DPeer, CUDA_MEMCPY3D_PEER, VF_LEGACY, VF_WAIT)
SOLID(cuMemcpy3DPeer_ptds, CUDA_MEMCPY3D_PEER, VF_PER_THREAD, VF_WAIT)
#undef STREAM

#define STREAM stream
#define IN_STREAM , CUstream stream
FLAT(cuMemcpy2DAsync, CUDA_MEMCPY2D_v1, VF_LEGACY, VF_ASYNC, IN_STREAM)
FLAT(cuMemcpy2DAsync_v2, CUDA_MEMCPY2D, VF_LEGACY, VF_ASYNC, IN_STREAM)
FLAT(cuMemcpy2DAsync_v2_ptsz, CUDA_MEMCPY2D, VF_PER_THREAD, VF_ASYNC,
     IN_STREAM)
SOLID(cuMemcpy3DAsync, CUDA_MEMCPY3D_v1, VF_LEGACY, VF_ASYNC, IN_STREAM)
SOLID(cuMemcpy3DAsync_v2, CUDA_MEMCPY3D, VF_LEGACY, VF_ASYNC, IN_STREAM)
SOLID(cuMemcpy3DAsync_v2_ptsz, CUDA_MEMCPY3D, VF_PER_THREAD, VF_ASYNC,
      IN_STREAM)
SOLID(cuMemcpy3DPeerAsync, CUDA_MEMCPY3D_PEER, VF_LEGACY, VF_ASYNC, IN_STREAM)
SOLID(cuMemcpy3DPeerAsync_ptsz, CUDA_MEMCPY3D_PEER, VF_PER_THREAD, VF_ASYNC,
      IN_STREAM)
