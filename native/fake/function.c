/* What a function says of itself, its legacy parameters, and occupancy. */
#include <stdlib.h>
#include <string.h>

#include "module.h"

enum { WARP = 32, SM_THREADS = 2048, SM_BLOCKS = 32, SM_SHARED = 233472 };

static CUresult enter(const char *call, CUfunction handle,
                      struct CUfunction_st **f)
{
    CUresult r = vf_enter_driver(call);
    *f = r ? NULL : vf_function(handle);
    return r ? r : *f ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- attributes ------------------------------------------------------------- */

static CUresult get_attribute(int *value, CUfunction_attribute id,
                              const struct CUfunction_st *f)
{
    switch (id) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = 70; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = 90; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = f->max_dynamic_shared ? f->max_dynamic_shared : 49152;
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = f->carveout;
        break;
    default:
        if ((unsigned)id >= CU_FUNC_ATTRIBUTE_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        *value = 0;
    }
    return CUDA_SUCCESS;
}

static CUresult set_attribute(struct CUfunction_st *f, CUfunction_attribute id,
                              int value)
{
    if (id == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        if (value < 0 || value > 232448)
            return CUDA_ERROR_INVALID_VALUE;
        f->max_dynamic_shared = value;
    } else if (id == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
        if (value < -1 || value > 100)
            return CUDA_ERROR_INVALID_VALUE;
        f->carveout = value;
    } else if ((unsigned)id >= CU_FUNC_ATTRIBUTE_MAX) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuFuncGetAttribute(int *value, CUfunction_attribute id,
                                      CUfunction handle)
{
    struct CUfunction_st *f;
    CUresult r = enter("cuFuncGetAttribute", handle, &f);
    if (r || !value)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    return get_attribute(value, id, f);
}

VF_EXPORT CUresult cuFuncSetAttribute(CUfunction handle,
                                      CUfunction_attribute id, int value)
{
    struct CUfunction_st *f;
    CUresult r = enter("cuFuncSetAttribute", handle, &f);
    return r ? r : set_attribute(f, id, value);
}

VF_EXPORT CUresult cuKernelGetAttribute(int *value, CUfunction_attribute id,
                                        CUkernel kernel, CUdevice device)
{
    (void)device;
    return cuFuncGetAttribute(value, id, (CUfunction)kernel);
}

VF_EXPORT CUresult cuKernelSetAttribute(CUfunction_attribute id, int value,
                                        CUkernel kernel, CUdevice device)
{
    (void)device;
    return cuFuncSetAttribute((CUfunction)kernel, id, value);
}

VF_EXPORT CUresult cuFuncGetName(const char **name, CUfunction handle)
{
    struct CUfunction_st *f;
    CUresult r = enter("cuFuncGetName", handle, &f);
    if (r || !name)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *name = f->name;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuFuncGetModule(CUmodule *module, CUfunction handle)
{
    struct CUfunction_st *f;
    CUresult r = enter("cuFuncGetModule", handle, &f);
    if (r || !module)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *module = f->module;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuFuncIsLoaded(int *state, CUfunction handle)
{
    struct CUfunction_st *f;
    CUresult r = enter("cuFuncIsLoaded", handle, &f);
    if (r || !state)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *state = 1;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuFuncLoad(CUfunction handle)
{
    struct CUfunction_st *f;
    return enter("cuFuncLoad", handle, &f);
}

VF_EXPORT CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
    struct CUfunction_st *f;
    (void)config;
    return enter("cuFuncSetCacheConfig", handle, &f);
}

VF_EXPORT CUresult cuFuncSetSharedMemConfig(CUfunction handle,
                                            CUsharedconfig config)
{
    struct CUfunction_st *f;
    (void)config;
    return enter("cuFuncSetSharedMemConfig", handle, &f);
}

/* ---- parameters as before CUDA 4 ------------------------------------------------ */

VF_EXPORT CUresult cuFuncSetBlockShape(CUfunction handle, int x, int y, int z)
{
    struct CUfunction_st *f;
    CUresult r = enter("cuFuncSetBlockShape", handle, &f);
    if (r || x <= 0 || y <= 0 || z <= 0)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    f->block[0] = x;
    f->block[1] = y;
    f->block[2] = z;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuFuncSetSharedSize(CUfunction handle, unsigned bytes)
{
    struct CUfunction_st *f;
    CUresult r = enter("cuFuncSetSharedSize", handle, &f);
    if (!r)
        f->shared_bytes = bytes;
    return r;
}

VF_EXPORT CUresult cuParamSetSize(CUfunction handle, unsigned bytes)
{
    struct CUfunction_st *f;
    CUresult r = enter("cuParamSetSize", handle, &f);
    if (r || bytes > VF_FUNCTION_PARAMS)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    f->params_size = bytes;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuParamSetv(CUfunction handle, int offset, void *from,
                               unsigned bytes)
{
    struct CUfunction_st *f;
    CUresult r = enter("cuParamSetv", handle, &f);
    if (r || !from || offset < 0 || bytes > VF_FUNCTION_PARAMS ||
        (unsigned)offset > VF_FUNCTION_PARAMS - bytes)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    memcpy(f->params + offset, from, bytes);
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuParamSeti(CUfunction handle, int offset, unsigned value)
{
    return cuParamSetv(handle, offset, &value, sizeof value);
}

VF_EXPORT CUresult cuParamSetf(CUfunction handle, int offset, float value)
{
    return cuParamSetv(handle, offset, &value, sizeof value);
}

/* ---- occupancy --------------------------------------------------------------------- */

static int blocks_per_sm(int block, size_t shared)
{
    int threads = (block + WARP - 1) / WARP * WARP;
    int blocks = SM_THREADS / threads;
    if (blocks > SM_BLOCKS)
        blocks = SM_BLOCKS;
    if (shared && (size_t)blocks > SM_SHARED / (shared + 1024))
        blocks = (int)(SM_SHARED / (shared + 1024));
    return blocks;
}

VF_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, CUfunction handle, int block, size_t shared, unsigned flags)
{
    struct CUfunction_st *f;
    CUresult r = enter("cuOccupancyMaxActiveBlocksPerMultiprocessor", handle,
                       &f);
    if (r || !blocks || block <= 0 || flags > 1)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *blocks = block > 1024 ? 0 : blocks_per_sm(block, shared);
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, CUfunction handle, int block, size_t shared)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks, handle, block, shared, 0);
}

VF_EXPORT CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(
    int *grid, int *block, CUfunction handle, CUoccupancyB2DSize shared_of,
    size_t shared, int limit, unsigned flags)
{
    struct CUfunction_st *f;
    struct vf_card *card;
    CUresult r = enter("cuOccupancyMaxPotentialBlockSize", handle, &f);
    if (!r)
        r = vf_current_card(&card);
    if (r || !grid || !block || flags > 1)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *block = limit > 0 && limit < 1024 ? limit : 1024;
    if (shared_of)
        shared = shared_of(*block);
    *grid = blocks_per_sm(*block, shared) * (int)card->identity.sms;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuOccupancyMaxPotentialBlockSize(
    int *grid, int *block, CUfunction handle, CUoccupancyB2DSize shared_of,
    size_t shared, int limit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, handle,
                                                     shared_of, shared, limit,
                                                     0);
}

VF_EXPORT CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes,
                                                           CUfunction handle,
                                                           int blocks,
                                                           int block)
{
    struct CUfunction_st *f;
    CUresult r = enter("cuOccupancyAvailableDynamicSMemPerBlock", handle, &f);
    if (r || !bytes || blocks <= 0 || block <= 0 || block > 1024)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *bytes = (size_t)(SM_SHARED / blocks) > 1024
                 ? (size_t)(SM_SHARED / blocks) - 1024 : 0;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuOccupancyMaxPotentialClusterSize(
    int *size, CUfunction handle, const CUlaunchConfig *config)
{
    struct CUfunction_st *f;
    CUresult r = enter("cuOccupancyMaxPotentialClusterSize", handle, &f);
    if (r || !size || !config)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *size = 8;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuOccupancyMaxActiveClusters(int *clusters,
                                                CUfunction handle,
                                                const CUlaunchConfig *config)
{
    struct CUfunction_st *f;
    struct vf_card *card;
    CUresult r = enter("cuOccupancyMaxActiveClusters", handle, &f);
    if (!r)
        r = vf_current_card(&card);
    if (r || !clusters || !config)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *clusters = (int)card->identity.sms / 8;
    return CUDA_SUCCESS;
}
