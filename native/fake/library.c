/* Libraries: images that no context owns, and the kernels in them. */
#include <stdlib.h>

#include "capture.h"
#include "module_parts.h"

struct CUlibrary_st {
    uint32_t magic;
    CUmodule module;
    struct CUkernel_st *kernels[1024];
    unsigned count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static CUresult enter(const char *call, CUlibrary library)
{
    CUresult r = vf_enter_driver(call);
    if (r)
        return r;
    return library && library->magic == VF_LIBRARY_MAGIC
               ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult load(const char *call, CUlibrary *out, const void *image)
{
    CUresult r = vf_enter_driver(call);
    if (r || !out)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    CUlibrary library = calloc(1, sizeof *library);
    if (!library)
        return CUDA_ERROR_OUT_OF_MEMORY;
    r = vf_module_load(vf_current_context(), image, &library->module);
    if (r) {
        free(library);
        return r;
    }
    library->magic = VF_LIBRARY_MAGIC;
    *out = library;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuLibraryLoadData(CUlibrary *out, const void *code,
                                     CUjit_option *jit, void **jit_values,
                                     unsigned jit_count,
                                     CUlibraryOption *options, void **values,
                                     unsigned count)
{
    (void)jit, (void)jit_values, (void)jit_count;
    (void)options, (void)values, (void)count;
    return load("cuLibraryLoadData", out, code);
}

VF_EXPORT CUresult cuLibraryLoadFromFile(CUlibrary *out, const char *path,
                                         CUjit_option *jit, void **jit_values,
                                         unsigned jit_count,
                                         CUlibraryOption *options,
                                         void **values, unsigned count)
{
    (void)jit, (void)jit_values, (void)jit_count;
    (void)options, (void)values, (void)count;
    char *image = path ? vf_read_file(path) : NULL;
    if (!image)
        return path ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    CUresult r = load("cuLibraryLoadFromFile", out, image);
    free(image);
    return r;
}

VF_EXPORT CUresult cuLibraryUnload(CUlibrary library)
{
    CUresult r = enter("cuLibraryUnload", library);
    if (r)
        return r;
    vf_card_wait(vf_device_card(library->module->device));
    library->magic = 0; /* the small husk stays: stale handles are seen */
    vf_module_drop(library->module);
    return CUDA_SUCCESS;
}

static struct CUkernel_st *kernel_of(CUlibrary library, CUfunction function)
{
    struct CUkernel_st *kernel = NULL;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < library->count && !kernel; i++)
        if (library->kernels[i]->function == function)
            kernel = library->kernels[i];
    if (!kernel && library->count < 1024)
        kernel = calloc(1, sizeof *kernel);
    if (kernel && !kernel->magic) {
        *kernel = (struct CUkernel_st){VF_KERNEL_MAGIC, library, function};
        function->kernel = kernel;
        library->kernels[library->count++] = kernel;
    }
    pthread_mutex_unlock(&lock);
    return kernel;
}

VF_EXPORT CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary library,
                                      const char *name)
{
    CUfunction function;
    CUresult r = enter("cuLibraryGetKernel", library);
    if (r || !out || !name)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    r = vf_module_function(library->module, name, &function);
    if (r)
        return r;
    *out = kernel_of(library, function);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

VF_EXPORT CUresult cuLibraryGetModule(CUmodule *out, CUlibrary library)
{
    CUresult r = enter("cuLibraryGetModule", library);
    if (r || !out)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *out = library->module;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuLibraryGetKernelCount(unsigned *count, CUlibrary library)
{
    CUresult r = enter("cuLibraryGetKernelCount", library);
    if (r || !count)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *count = library->module->function_count;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuLibraryEnumerateKernels(CUkernel *out, unsigned count,
                                             CUlibrary library)
{
    CUresult r = enter("cuLibraryEnumerateKernels", library);
    if (r || !out)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    struct CUfunction_st *f = library->module->functions;
    for (unsigned i = 0; i < count && f; i++, f = f->next)
        out[i] = kernel_of(library, f);
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuLibraryGetGlobal(CUdeviceptr *at, size_t *bytes,
                                      CUlibrary library, const char *name)
{
    CUresult r = enter("cuLibraryGetGlobal", library);
    if (r || !name)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    return vf_module_global(library->module, name, at, bytes);
}

/* ---- kernels ----------------------------------------------------------------- */

static CUresult enter_kernel(const char *call, CUkernel kernel)
{
    CUresult r = vf_enter_driver(call);
    if (r)
        return r;
    return kernel && kernel->magic == VF_KERNEL_MAGIC &&
                   vf_function((CUfunction)kernel)
               ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

VF_EXPORT CUresult cuKernelGetFunction(CUfunction *out, CUkernel kernel)
{
    CUresult r = enter_kernel("cuKernelGetFunction", kernel);
    if (r || !out)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *out = kernel->function;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuKernelGetLibrary(CUlibrary *out, CUkernel kernel)
{
    CUresult r = enter_kernel("cuKernelGetLibrary", kernel);
    if (r || !out)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *out = kernel->library;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
    CUresult r = enter_kernel("cuKernelGetName", kernel);
    if (r || !name)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *name = kernel->function->name;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config,
                                          CUdevice device)
{
    (void)config, (void)device;
    return enter_kernel("cuKernelSetCacheConfig", kernel);
}
