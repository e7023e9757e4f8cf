/*
 * Structures of the CUDA driver's ABI (CUDA 13.5) that hooks, the simulated
 * driver and the tests read or write. Included by cuda_abi.h.
 */
#ifndef VXPU_CUDA_STRUCTS_H
#define VXPU_CUDA_STRUCTS_H

#define VX_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type)

/* Devices, contexts. */
typedef struct {
    char bytes[16];
} CUuuid;
VX_SIZE(CUuuid, 16);

typedef struct {
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    int sharedMemPerBlock, totalConstantMemory, SIMDWidth, memPitch;
    int regsPerBlock, clockRate, textureAlign;
} CUdevprop;
VX_SIZE(CUdevprop, 56);

typedef struct {
    CUexecAffinityType type;
    union {
        struct {
            unsigned int val;
        } smCount;
    } param;
} CUexecAffinityParam;
VX_SIZE(CUexecAffinityParam, 8);

typedef struct {
    CUcigDataType sharedDataType;
    void *sharedData;
} CUctxCigParam;
VX_SIZE(CUctxCigParam, 16);

typedef struct {
    CUexecAffinityParam *execAffinityParams;
    int numExecAffinityParams;
    CUctxCigParam *cigParams;
} CUctxCreateParams;
VX_SIZE(CUctxCreateParams, 24);

typedef struct {
    CUasyncNotificationType type;
    union {
        struct {
            unsigned long long bytesOverBudget;
        } overBudget;
    } info;
} CUasyncNotificationInfo;
VX_SIZE(CUasyncNotificationInfo, 16);

typedef struct {
    unsigned int timeoutMs, reserved0;
    cuuint64_t reserved1[7];
} CUcheckpointLockArgs;
VX_SIZE(CUcheckpointLockArgs, 64);

typedef struct {
    void *customStorageInfo_out;
    char reserved[56];
} CUcheckpointCheckpointArgs;
VX_SIZE(CUcheckpointCheckpointArgs, 64);

typedef struct {
    CUuuid oldUuid, newUuid;
} CUcheckpointGpuPair;
VX_SIZE(CUcheckpointGpuPair, 32);

typedef struct {
    CUcheckpointGpuPair *gpuPairs;
    unsigned int gpuPairsCount, padding0;
    void *customStorageInfo_out;
    char reserved[40];
} CUcheckpointRestoreArgs;
VX_SIZE(CUcheckpointRestoreArgs, 64);

typedef struct {
    cuuint64_t reserved[8];
} CUcheckpointUnlockArgs;
VX_SIZE(CUcheckpointUnlockArgs, 64);

/* Sharing between processes. */
typedef struct {
    char reserved[64];
} CUipcMemHandle;
typedef struct {
    char reserved[64];
} CUipcEventHandle;
typedef struct {
    unsigned char data[64];
} CUmemFabricHandle;
typedef struct {
    unsigned char reserved[64];
} CUmemPoolPtrExportData;
VX_SIZE(CUipcMemHandle, 64);

typedef struct {
    CUexternalMemoryHandleType type;
    union {
        int fd;
        struct {
            void *handle;
            const void *name;
        } win32;
        const void *nvSciBufObject;
    } handle;
    unsigned long long size;
    unsigned int flags, reserved[16];
} CUDA_EXTERNAL_MEMORY_HANDLE_DESC;
VX_SIZE(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, 104);

typedef struct {
    unsigned long long offset, size;
    unsigned int flags, reserved[16];
} CUDA_EXTERNAL_MEMORY_BUFFER_DESC;
VX_SIZE(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, 88);

/* Arrays; _v1 are the 32-bit forms from before CUDA 3.2. */
typedef struct {
    size_t Width, Height;
    CUarray_format Format;
    unsigned int NumChannels;
} CUDA_ARRAY_DESCRIPTOR;
typedef struct {
    unsigned int Width, Height;
    CUarray_format Format;
    unsigned int NumChannels;
} CUDA_ARRAY_DESCRIPTOR_v1;
VX_SIZE(CUDA_ARRAY_DESCRIPTOR, 24);
VX_SIZE(CUDA_ARRAY_DESCRIPTOR_v1, 16);

typedef struct {
    size_t Width, Height, Depth;
    CUarray_format Format;
    unsigned int NumChannels, Flags;
} CUDA_ARRAY3D_DESCRIPTOR;
typedef struct {
    unsigned int Width, Height, Depth;
    CUarray_format Format;
    unsigned int NumChannels, Flags;
} CUDA_ARRAY3D_DESCRIPTOR_v1;
VX_SIZE(CUDA_ARRAY3D_DESCRIPTOR, 40);
VX_SIZE(CUDA_ARRAY3D_DESCRIPTOR_v1, 24);

enum { /* CUDA_ARRAY3D_DESCRIPTOR.Flags */
    CUDA_ARRAY3D_LAYERED = 0x01,
    CUDA_ARRAY3D_SURFACE_LDST = 0x02,
    CUDA_ARRAY3D_CUBEMAP = 0x04,
    CUDA_ARRAY3D_TEXTURE_GATHER = 0x08,
    CUDA_ARRAY3D_SPARSE = 0x40,
    CUDA_ARRAY3D_DEFERRED_MAPPING = 0x80
};

typedef struct {
    unsigned long long offset;
    CUDA_ARRAY3D_DESCRIPTOR arrayDesc;
    unsigned int numLevels, reserved[16];
} CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC;
VX_SIZE(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC, 120);

typedef struct {
    size_t size, alignment;
    unsigned int reserved[4];
} CUDA_ARRAY_MEMORY_REQUIREMENTS;
VX_SIZE(CUDA_ARRAY_MEMORY_REQUIREMENTS, 32);

typedef struct {
    struct {
        unsigned int width, height, depth;
    } tileExtent;
    unsigned int miptailFirstLevel;
    unsigned long long miptailSize;
    unsigned int flags, reserved[4];
} CUDA_ARRAY_SPARSE_PROPERTIES;
VX_SIZE(CUDA_ARRAY_SPARSE_PROPERTIES, 48);

typedef struct {
    CUresourcetype resourceType;
    union {
        CUmipmappedArray mipmap;
        CUarray array;
    } resource;
    CUarraySparseSubresourceType subresourceType;
    union {
        struct {
            unsigned int level, layer, offsetX, offsetY, offsetZ;
            unsigned int extentWidth, extentHeight, extentDepth;
        } sparseLevel;
        struct {
            unsigned int layer;
            unsigned long long offset, size;
        } miptail;
    } subresource;
    CUmemOperationType memOperationType;
    CUmemHandleType memHandleType;
    union {
        CUmemGenericAllocationHandle memHandle;
    } memHandle;
    unsigned long long offset;
    unsigned int deviceBitMask, flags, reserved[2];
} CUarrayMapInfo;
VX_SIZE(CUarrayMapInfo, 96);

/* Virtual memory, pools. */
typedef struct {
    CUmemLocationType type;
    union {
        int id;
        struct {
            unsigned char deviceId, localityDomainId;
        } localized;
    };
} CUmemLocation;
VX_SIZE(CUmemLocation, 8);

typedef struct {
    CUmemAllocationType type;
    CUmemAllocationHandleType requestedHandleTypes;
    CUmemLocation location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType, gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
} CUmemAllocationProp;
VX_SIZE(CUmemAllocationProp, 32);

typedef struct {
    CUmemLocation location;
    CUmemAccess_flags flags;
} CUmemAccessDesc;
VX_SIZE(CUmemAccessDesc, 12);

typedef struct {
    CUmemAllocationType allocType;
    CUmemAllocationHandleType handleTypes;
    CUmemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned short usage;
    unsigned char gpuDirectRDMACapable, reserved[53];
} CUmemPoolProps;
VX_SIZE(CUmemPoolProps, 88);

typedef struct {
    unsigned int numDevices;
    size_t size;
    unsigned long long handleTypes, flags;
} CUmulticastObjectProp;
VX_SIZE(CUmulticastObjectProp, 32);

/* Copies; _v1 are the 32-bit forms. */
#define VX_COPY2D(number, device)                                        \
    number srcXInBytes, srcY;                                            \
    CUmemorytype srcMemoryType;                                          \
    const void *srcHost;                                                 \
    device srcDevice;                                                    \
    CUarray srcArray;                                                    \
    number srcPitch, dstXInBytes, dstY;                                  \
    CUmemorytype dstMemoryType;                                          \
    void *dstHost;                                                       \
    device dstDevice;                                                    \
    CUarray dstArray;                                                    \
    number dstPitch, WidthInBytes, Height
typedef struct {
    VX_COPY2D(size_t, CUdeviceptr);
} CUDA_MEMCPY2D;
typedef struct {
    VX_COPY2D(unsigned int, CUdeviceptr_v1);
} CUDA_MEMCPY2D_v1;
VX_SIZE(CUDA_MEMCPY2D, 128);
VX_SIZE(CUDA_MEMCPY2D_v1, 96);

#define VX_COPY3D(number, device, owner, source, target)                 \
    number srcXInBytes, srcY, srcZ, srcLOD;                              \
    CUmemorytype srcMemoryType;                                          \
    const void *srcHost;                                                 \
    device srcDevice;                                                    \
    CUarray srcArray;                                                    \
    owner source;                                                        \
    number srcPitch, srcHeight, dstXInBytes, dstY, dstZ, dstLOD;         \
    CUmemorytype dstMemoryType;                                          \
    void *dstHost;                                                       \
    device dstDevice;                                                    \
    CUarray dstArray;                                                    \
    owner target;                                                        \
    number dstPitch, dstHeight, WidthInBytes, Height, Depth
typedef struct {
    VX_COPY3D(size_t, CUdeviceptr, void *, reserved0, reserved1);
} CUDA_MEMCPY3D;
typedef struct {
    VX_COPY3D(unsigned int, CUdeviceptr_v1, void *, reserved0, reserved1);
} CUDA_MEMCPY3D_v1;
typedef struct {
    VX_COPY3D(size_t, CUdeviceptr, CUcontext, srcContext, dstContext);
} CUDA_MEMCPY3D_PEER;
VX_SIZE(CUDA_MEMCPY3D, 200);
VX_SIZE(CUDA_MEMCPY3D_v1, 144);
VX_SIZE(CUDA_MEMCPY3D_PEER, 200);

typedef struct {
    CUmemcpySrcAccessOrder srcAccessOrder;
    CUmemLocation srcLocHint, dstLocHint;
    unsigned int flags;
} CUmemcpyAttributes;
VX_SIZE(CUmemcpyAttributes, 24);

typedef struct {
    CUmemcpy3DOperandType type;
    union {
        struct {
            CUdeviceptr ptr;
            size_t rowLength, layerHeight;
            CUmemLocation locHint;
        } ptr;
        struct {
            CUarray array;
            struct {
                size_t x, y, z;
            } offset;
        } array;
    } op;
} CUmemcpy3DOperand;
VX_SIZE(CUmemcpy3DOperand, 40);

typedef struct {
    CUmemcpy3DOperand src, dst;
    struct {
        size_t width, height, depth;
    } extent;
    CUmemcpySrcAccessOrder srcAccessOrder;
    unsigned int flags;
} CUDA_MEMCPY3D_BATCH_OP;
VX_SIZE(CUDA_MEMCPY3D_BATCH_OP, 112);

/* One side of a copy over the fabric: a pointer or a logical endpoint. */
typedef struct {
    int type;
    union {
        struct {
            CUdeviceptr ptr;
            CUmemLocation locHint;
        } ptr;
        struct {
            cuuint32_t id;
            cuuint64_t offset;
        } le;
    } op;
} CUfabricCpyOperand;

typedef struct {
    CUfabricCpyOperand src, dst;
    size_t size;
    unsigned int flags;
} CUDA_FABRIC_COPY_BATCH_OP;
VX_SIZE(CUDA_FABRIC_COPY_BATCH_OP, 64);

typedef struct {
    size_t srcNumBytes, dstNumBytes;
    cuuint32_t *dstActBytes;
    const void *src;
    void *dst;
    int algo;
    unsigned char padding[20];
} CUmemDecompressParams;
VX_SIZE(CUmemDecompressParams, 64);

#include "cuda_work_structs.h"

#undef VX_COPY2D
#undef VX_COPY3D
#undef VX_SIZE

#endif
