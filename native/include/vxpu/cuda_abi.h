/*
 * The part of the CUDA driver's ABI that the limiter, the simulated driver
 * and their tests touch, declared here so that no toolkit is needed. Numbers
 * and layouts are those of CUDA 13.5; structs are in cuda_structs.h.
 */
#ifndef VXPU_CUDA_ABI_H
#define VXPU_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
typedef unsigned long long CUdeviceptr;
typedef unsigned int CUdeviceptr_v1; /* of the calls from before CUDA 3.2 */
typedef int CUdevice;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef cuuint64_t CUgraphConditionalHandle;
typedef unsigned long long CUtexObject;
typedef unsigned long long CUsurfObject;

#define VX_HANDLE(name) typedef struct name##_st *name
VX_HANDLE(CUcontext);
VX_HANDLE(CUmodule);
VX_HANDLE(CUfunction);
VX_HANDLE(CUlibrary);
VX_HANDLE(CUkernel);
VX_HANDLE(CUarray);
VX_HANDLE(CUmipmappedArray);
VX_HANDLE(CUtexref);
VX_HANDLE(CUsurfref);
VX_HANDLE(CUevent);
VX_HANDLE(CUstream);
VX_HANDLE(CUgraphicsResource);
VX_HANDLE(CUexternalMemory);
VX_HANDLE(CUexternalSemaphore);
VX_HANDLE(CUgraph);
VX_HANDLE(CUgraphNode);
VX_HANDLE(CUgraphExec);
VX_HANDLE(CUmemoryPool);
VX_HANDLE(CUuserObject);
VX_HANDLE(CUgraphDeviceNode);
VX_HANDLE(CUgreenCtx);
VX_HANDLE(CUdevResourceDesc);
VX_HANDLE(CUlinkState);
VX_HANDLE(CUcheckpointOperationHandle);
VX_HANDLE(CUasyncCallbackHandle);
#undef VX_HANDLE

/* The three streams that are no objects. */
#define VX_STREAM_NULL ((CUstream)0)
#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)

#define CU_LAUNCH_PARAM_END ((void *)0x00)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x01)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)0x02)
#define CU_DEVICE_CPU ((CUdevice)-1)
#define CU_DEVICE_INVALID ((CUdevice)-2)

typedef void (*CUhostFn)(void *);
typedef size_t (*CUoccupancyB2DSize)(int);

#include "cuda_enums.h"
#include "cuda_structs.h"

typedef void (*CUstreamCallback)(CUstream, CUresult, void *);
typedef void (*CUasyncCallback)(CUasyncNotificationInfo *, void *,
                                CUasyncCallbackHandle);

#endif
