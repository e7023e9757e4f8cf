/* Prototypes of the driver's calls for the test programs: linked by name. */
#ifndef VXPU_TEST_CUDA_CALLS_H
#define VXPU_TEST_CUDA_CALLS_H

#include "vxpu/cuda_abi.h"
#include "vxpu/nvml_abi.h"

#define VX_CU(class, name, params) CUresult name params;
#define VX_CU_USE(name, params) CUresult name params;
#define VX_NV(class, name, params) nvmlReturn_t name params;
#define VX_NV_USE(name, params) nvmlReturn_t name params;
#include "hooks.def"

/* What the limiter neither wraps nor calls. */
CUresult cuMemAddressReserve(CUdeviceptr *, size_t, size_t, CUdeviceptr,
                             unsigned long long);
CUresult cuMemAddressFree(CUdeviceptr, size_t);
CUresult cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
CUresult cuMemExportToShareableHandle(void *, CUmemGenericAllocationHandle,
                                      CUmemAllocationHandleType,
                                      unsigned long long);
CUresult cuIpcGetMemHandle(CUipcMemHandle *, CUdeviceptr);
CUresult cuStreamCreate(CUstream *, unsigned int);
CUresult cuGraphCreate(CUgraph *, unsigned int);
CUresult cuGraphDestroy(CUgraph);
CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *);
nvmlReturn_t nvmlInit_v2(void);

#endif
