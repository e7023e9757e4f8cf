/*
 * Structures of the CUDA driver's ABI (CUDA 13.5) that describe work:
 * launches, stream operations, graphs. Included by cuda_structs.h.
 */
#ifndef VXPU_CUDA_WORK_STRUCTS_H
#define VXPU_CUDA_WORK_STRUCTS_H

typedef struct {
    void *base_ptr;
    size_t num_bytes;
    float hitRatio;
    CUaccessProperty hitProp, missProp;
} CUaccessPolicyWindow;
VX_SIZE(CUaccessPolicyWindow, 32);

/* CUkernelNodeAttrValue and CUstreamAttrValue are the same union. */
typedef union {
    char pad[64];
    CUaccessPolicyWindow accessPolicyWindow;
    int cooperative;
    CUsynchronizationPolicy syncPolicy;
    struct {
        unsigned int x, y, z;
    } clusterDim, preferredClusterDim;
    CUclusterSchedulingPolicy clusterSchedulingPolicyPreference;
    int programmaticStreamSerializationAllowed;
    struct {
        CUevent event;
        int flags, triggerAtBlockStart;
    } programmaticEvent;
    struct {
        CUevent event;
        int flags;
    } launchCompletionEvent;
    int priority;
    struct {
        unsigned char default_, remote;
    } memSyncDomainMap;
    CUlaunchMemSyncDomain memSyncDomain;
    struct {
        int deviceUpdatable;
        CUgraphDeviceNode devNode;
    } deviceUpdatableKernelNode;
    unsigned int sharedMemCarveout, nvlinkUtilCentricScheduling;
} CUlaunchAttributeValue;
typedef CUlaunchAttributeValue CUkernelNodeAttrValue;
typedef CUlaunchAttributeValue CUstreamAttrValue;
typedef CUlaunchAttributeID CUkernelNodeAttrID;
typedef CUlaunchAttributeID CUstreamAttrID;
VX_SIZE(CUlaunchAttributeValue, 64);

typedef struct {
    CUlaunchAttributeID id;
    char pad[4];
    CUlaunchAttributeValue value;
} CUlaunchAttribute;
VX_SIZE(CUlaunchAttribute, 72);

typedef struct {
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned int numAttrs;
} CUlaunchConfig;
VX_SIZE(CUlaunchConfig, 56);

typedef struct {
    CUfunction function;
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    CUstream hStream;
    void **kernelParams;
} CUDA_LAUNCH_PARAMS;
VX_SIZE(CUDA_LAUNCH_PARAMS, 56);

/* Waits, writes and barriers in a stream. */
typedef union {
    CUstreamBatchMemOpType operation;
    struct {
        CUstreamBatchMemOpType operation;
        CUdeviceptr address;
        union {
            cuuint32_t value;
            cuuint64_t value64;
        };
        unsigned int flags;
        CUdeviceptr alias;
    } waitValue, writeValue;
    struct {
        CUstreamBatchMemOpType operation;
        unsigned int flags;
    } flushRemoteWrites, memoryBarrier;
    cuuint64_t pad[6];
} CUstreamBatchMemOpParams;
VX_SIZE(CUstreamBatchMemOpParams, 48);

/* Graph nodes. */
typedef struct {
    CUfunction func;
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    void **kernelParams;
    void **extra;
} CUDA_KERNEL_NODE_PARAMS_v1;
VX_SIZE(CUDA_KERNEL_NODE_PARAMS_v1, 56);

typedef struct {
    CUfunction func; /* NULL when kern is given */
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    void **kernelParams;
    void **extra;
    CUkernel kern;
    CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS; /* _v2; _v3 of CUgraphNodeParams is the same */
VX_SIZE(CUDA_KERNEL_NODE_PARAMS, 72);

typedef struct {
    CUdeviceptr dst;
    size_t pitch;
    unsigned int value, elementSize;
    size_t width, height;
} CUDA_MEMSET_NODE_PARAMS;
typedef struct {
    CUdeviceptr dst;
    size_t pitch;
    unsigned int value, elementSize;
    size_t width, height;
    CUcontext ctx;
} CUDA_MEMSET_NODE_PARAMS_v2;
VX_SIZE(CUDA_MEMSET_NODE_PARAMS, 40);
VX_SIZE(CUDA_MEMSET_NODE_PARAMS_v2, 48);

typedef struct {
    CUhostFn fn;
    void *userData;
} CUDA_HOST_NODE_PARAMS;
typedef struct {
    CUhostFn fn;
    void *userData;
    unsigned int syncMode;
    CUcontext ctx;
} CUDA_HOST_NODE_PARAMS_v2;
VX_SIZE(CUDA_HOST_NODE_PARAMS, 16);
VX_SIZE(CUDA_HOST_NODE_PARAMS_v2, 32);

typedef struct {
    int flags, reserved;
    CUcontext copyCtx;
    CUDA_MEMCPY3D copyParams;
} CUDA_MEMCPY_NODE_PARAMS;
VX_SIZE(CUDA_MEMCPY_NODE_PARAMS, 216);

typedef struct {
    CUmemPoolProps poolProps;
    const CUmemAccessDesc *accessDescs;
    size_t accessDescCount, bytesize;
    CUdeviceptr dptr; /* out */
} CUDA_MEM_ALLOC_NODE_PARAMS;
VX_SIZE(CUDA_MEM_ALLOC_NODE_PARAMS, 120);

typedef struct {
    CUcontext ctx;
    unsigned int count;
    CUstreamBatchMemOpParams *paramArray;
    unsigned int flags;
} CUDA_BATCH_MEM_OP_NODE_PARAMS;
VX_SIZE(CUDA_BATCH_MEM_OP_NODE_PARAMS, 32);

typedef struct {
    CUgraphConditionalHandle handle;
    CUgraphConditionalNodeType type;
    unsigned int size;
    CUgraph *phGraph_out;
    CUcontext ctx;
} CUDA_CONDITIONAL_NODE_PARAMS;
VX_SIZE(CUDA_CONDITIONAL_NODE_PARAMS, 32);

typedef struct {
    CUgraph graph;
    CUgraphChildGraphNodeOwnership ownership;
} CUDA_CHILD_GRAPH_NODE_PARAMS;
VX_SIZE(CUDA_CHILD_GRAPH_NODE_PARAMS, 16);

typedef struct {
    CUevent event;
    CUcontext ctx;
} CUDA_EVENT_RECORD_NODE_PARAMS;
VX_SIZE(CUDA_EVENT_RECORD_NODE_PARAMS, 16);

typedef struct {
    size_t count;
    CUdeviceptr *dsts, *srcs;
    size_t *sizes;
    CUmemcpyAttributes *attrs;
    size_t *attrsIdxs;
    size_t numAttrs;
    CUcontext ctx;
} CUDA_MEMCPY_BATCH_NODE_PARAMS;
VX_SIZE(CUDA_MEMCPY_BATCH_NODE_PARAMS, 64);

typedef struct {
    CUgraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        CUDA_KERNEL_NODE_PARAMS kernel;
        CUDA_MEMCPY_NODE_PARAMS memcpy;
        CUDA_MEMSET_NODE_PARAMS_v2 memset;
        CUDA_HOST_NODE_PARAMS_v2 host;
        CUDA_CHILD_GRAPH_NODE_PARAMS graph;
        CUDA_EVENT_RECORD_NODE_PARAMS eventRecord;
        struct {
            CUevent event;
        } eventWait;
        CUDA_MEM_ALLOC_NODE_PARAMS alloc;
        struct {
            CUdeviceptr dptr;
        } free;
        CUDA_BATCH_MEM_OP_NODE_PARAMS memOp;
        CUDA_CONDITIONAL_NODE_PARAMS conditional;
        CUDA_MEMCPY_BATCH_NODE_PARAMS memcpyBatch;
    };
    long long reserved2;
} CUgraphNodeParams;
VX_SIZE(CUgraphNodeParams, 256);

typedef struct {
    unsigned char from_port, to_port, type, reserved[5];
} CUgraphEdgeData;
VX_SIZE(CUgraphEdgeData, 8);

typedef struct {
    cuuint64_t flags;
    CUstream hUploadStream;
    CUgraphNode hErrNode_out;
    CUgraphInstantiateResult result_out;
} CUDA_GRAPH_INSTANTIATE_PARAMS;
VX_SIZE(CUDA_GRAPH_INSTANTIATE_PARAMS, 32);

typedef struct {
    CUgraphExecUpdateResult result;
    CUgraphNode errorNode, errorFromNode;
} CUgraphExecUpdateResultInfo;
VX_SIZE(CUgraphExecUpdateResultInfo, 24);

/* Parts of a device, for green contexts. */
typedef struct {
    unsigned int smCount, minSmPartitionSize, smCoscheduledAlignment, flags;
    unsigned int localityDomainId;
} CUdevSmResource;

typedef struct CUdevResource {
    CUdevResourceType type;
    unsigned char internal[92];
    union {
        CUdevSmResource sm;
        unsigned char oversize[40];
    };
    struct CUdevResource *nextResource;
} CUdevResource;
VX_SIZE(CUdevResource, 144);

/* Handed on as they are. */
typedef struct CUstreamCigCaptureParams_st CUstreamCigCaptureParams;
typedef void (*CUgraphRecaptureCallback)(void);

#endif
