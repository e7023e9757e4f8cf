/*
 * Code: what it takes on the device nobody tells before it is there, so the
 * agent's overhead accounts for it. Without a region none is loaded.
 */
#include "cu_memory.h"

static bool refused(void)
{
    return vx_cu_mode() == VX_REFUSE;
}

CUresult cuModuleLoad(CUmodule *out, const char *path)
{
    return refused() ? CUDA_ERROR_NO_DEVICE : vx_cu()->cuModuleLoad(out, path);
}

CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
    return refused() ? CUDA_ERROR_NO_DEVICE
                     : vx_cu()->cuModuleLoadData(out, image);
}

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image,
                            unsigned int count, CUjit_option *options,
                            void **values)
{
    return refused() ? CUDA_ERROR_NO_DEVICE
                     : vx_cu()->cuModuleLoadDataEx(out, image, count, options,
                                                   values);
}

CUresult cuModuleLoadFatBinary(CUmodule *out, const void *image)
{
    return refused() ? CUDA_ERROR_NO_DEVICE
                     : vx_cu()->cuModuleLoadFatBinary(out, image);
}

CUresult cuModuleUnload(CUmodule module)
{
    return vx_cu()->cuModuleUnload(module);
}

CUresult cuLibraryLoadData(CUlibrary *out, const void *code,
                           CUjit_option *jit, void **jit_values,
                           unsigned int jit_count, CUlibraryOption *options,
                           void **values, unsigned int count)
{
    return refused() ? CUDA_ERROR_NO_DEVICE
                     : vx_cu()->cuLibraryLoadData(out, code, jit, jit_values,
                                                  jit_count, options, values,
                                                  count);
}

CUresult cuLibraryLoadFromFile(CUlibrary *out, const char *path,
                               CUjit_option *jit, void **jit_values,
                               unsigned int jit_count, CUlibraryOption *options,
                               void **values, unsigned int count)
{
    return refused() ? CUDA_ERROR_NO_DEVICE
                     : vx_cu()->cuLibraryLoadFromFile(out, path, jit,
                                                      jit_values, jit_count,
                                                      options, values, count);
}

CUresult cuLibraryUnload(CUlibrary library)
{
    return vx_cu()->cuLibraryUnload(library);
}

CUresult cuLinkComplete(CUlinkState state, void **out, size_t *bytes)
{
    return vx_cu()->cuLinkComplete(state, out, bytes);
}
