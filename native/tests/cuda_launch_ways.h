/* One kernel, launched by each call that launches one. */
#ifndef VXPU_TEST_CUDA_LAUNCH_WAYS_H
#define VXPU_TEST_CUDA_LAUNCH_WAYS_H

#include "cuda_driver.h"

enum {
    WAY_KERNEL, WAY_KERNEL_PTSZ, WAY_EX, WAY_EX_PTSZ, WAY_COOPERATIVE,
    WAY_COOPERATIVE_PTSZ, WAY_GRID, WAY_GRID_ASYNC, WAY_LAUNCH
};

#define PLAIN_PARAMS                                                         \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
     unsigned, CUstream, void **, void **)
#define COOPERATIVE_PARAMS                                                   \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
     unsigned, CUstream, void **)
#define EX_PARAMS (const CUlaunchConfig *, CUfunction, void **, void **)

/* Calls `name`, looked up as the others are. */
#define BY_NAME(name, params, ...) \
    (((CUresult(*) params)vx_test_symbol(vx_test_library, name))(__VA_ARGS__))

static CUresult launch_old(unsigned long way, CUfunction f, unsigned grid,
                           unsigned block, CUstream s, uint64_t *ns)
{
    BY_NAME("cuFuncSetBlockShape", (CUfunction, int, int, int), f, (int)block, 1, 1);
    BY_NAME("cuParamSetSize", (CUfunction, unsigned), f, sizeof *ns);
    BY_NAME("cuParamSetv", (CUfunction, int, void *, unsigned), f, 0, ns, sizeof *ns);
    if (way == WAY_LAUNCH)
        return BY_NAME("cuLaunch", (CUfunction), f);
    if (way == WAY_GRID)
        return BY_NAME("cuLaunchGrid", (CUfunction, int, int), f, (int)grid, 1);
    return BY_NAME("cuLaunchGridAsync", (CUfunction, int, int, CUstream), f,
                   (int)grid, 1, s);
}

static CUresult vx_test_launch(unsigned long way, CUfunction f, unsigned grid,
                               unsigned block, CUstream s, uint64_t *ns)
{
    void *params[] = {ns};
    CUlaunchConfig c = {.gridDimX = grid, .gridDimY = 1, .gridDimZ = 1, .hStream = s,
                        .blockDimX = block, .blockDimY = 1, .blockDimZ = 1};
    switch (way) {
    case WAY_KERNEL:
        return cu.cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, s, params, NULL);
    case WAY_KERNEL_PTSZ:
        return BY_NAME("cuLaunchKernel_ptsz", PLAIN_PARAMS, f, grid, 1, 1, block,
                       1, 1, 0, s, params, NULL);
    case WAY_EX:
        return BY_NAME("cuLaunchKernelEx", EX_PARAMS, &c, f, params, NULL);
    case WAY_EX_PTSZ:
        return BY_NAME("cuLaunchKernelEx_ptsz", EX_PARAMS, &c, f, params, NULL);
    case WAY_COOPERATIVE:
        return BY_NAME("cuLaunchCooperativeKernel", COOPERATIVE_PARAMS, f, grid, 1,
                       1, block, 1, 1, 0, s, params);
    case WAY_COOPERATIVE_PTSZ:
        return BY_NAME("cuLaunchCooperativeKernel_ptsz", COOPERATIVE_PARAMS, f, grid,
                       1, 1, block, 1, 1, 0, s, params);
    default:
        return launch_old(way, f, grid, block, s, ns);
    }
}

#endif
