/* The entries for modules. */
#include <stdlib.h>

#include "capture.h"
#include "module_parts.h"

static CUresult load(const char *call, CUmodule *out, const void *image)
{
    CUcontext context;
    CUresult r = vf_enter(call, &context);
    if (r)
        return r;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    r = vf_capture_forbids();
    return r ? r : vf_module_load(context, image, out);
}

VF_EXPORT CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
    return load("cuModuleLoadData", out, image);
}

VF_EXPORT CUresult cuModuleLoadDataEx(CUmodule *out, const void *image,
                                      unsigned count, CUjit_option *options,
                                      void **values)
{
    (void)options, (void)values, (void)count;
    return load("cuModuleLoadDataEx", out, image);
}

VF_EXPORT CUresult cuModuleLoadFatBinary(CUmodule *out, const void *image)
{
    return load("cuModuleLoadFatBinary", out, image);
}

VF_EXPORT CUresult cuModuleLoad(CUmodule *out, const char *path)
{
    if (!path)
        return CUDA_ERROR_INVALID_VALUE;
    char *image = vf_read_file(path);
    if (!image)
        return CUDA_ERROR_FILE_NOT_FOUND;
    CUresult r = load("cuModuleLoad", out, image);
    free(image);
    return r;
}

static CUresult enter(const char *call, CUmodule module)
{
    CUresult r = vf_enter_driver(call);
    return r ? r : vf_module_find(module);
}

VF_EXPORT CUresult cuModuleUnload(CUmodule module)
{
    CUresult r = enter("cuModuleUnload", module);
    if (!r)
        r = vf_capture_forbids();
    if (r)
        return r;
    vf_card_wait(vf_device_card(module->device));
    vf_module_drop(module);
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuModuleGetFunction(CUfunction *out, CUmodule module,
                                       const char *name)
{
    CUresult r = enter("cuModuleGetFunction", module);
    if (r || !out || !name)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    return vf_module_function(module, name, out);
}

VF_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes,
                                        CUmodule module, const char *name)
{
    CUresult r = enter("cuModuleGetGlobal_v2", module);
    if (r || !name)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    return vf_module_global(module, name, at, bytes);
}

VF_EXPORT CUresult cuModuleGetGlobal(CUdeviceptr_v1 *at, unsigned *bytes,
                                     CUmodule module, const char *name)
{
    CUdeviceptr wide_at = 0;
    size_t wide_bytes = 0;
    CUresult r = cuModuleGetGlobal_v2(&wide_at, &wide_bytes, module, name);
    if (r)
        return r;
    if (wide_at >> 32) /* no address for a 32-bit program */
        return CUDA_ERROR_NOT_SUPPORTED;
    if (at)
        *at = (CUdeviceptr_v1)wide_at;
    if (bytes)
        *bytes = (unsigned)wide_bytes;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule module)
{
    CUresult r = enter("cuModuleGetFunctionCount", module);
    if (r || !count)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *count = module->function_count;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuModuleEnumerateFunctions(CUfunction *out, unsigned count,
                                              CUmodule module)
{
    CUresult r = enter("cuModuleEnumerateFunctions", module);
    if (r || !out || count == 0)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    struct CUfunction_st *f = module->functions;
    for (unsigned i = 0; i < count; i++, f = f ? f->next : NULL)
        out[i] = f;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    CUresult r = vf_enter_driver("cuModuleGetLoadingMode");
    if (r || !mode)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}
