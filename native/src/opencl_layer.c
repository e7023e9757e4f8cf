/* The official layer interface: OPENCL_LAYERS=/path/libvxpu.so. */
#include <dlfcn.h>
#include <string.h>

#include "layer.h"
#include "library.h"
#include "log.h"
#include "session.h"

VX_EXPORT cl_int clGetLayerInfo(cl_uint name, size_t size, void *value,
                                size_t *size_ret);
VX_EXPORT cl_int clInitLayer(cl_uint num_entries, void *const *target,
                             cl_uint *num_entries_ret, void *const **layer);

enum vx_mode vx_layer_mode(void)
{
    return vx_session_mode();
}

cl_int clGetLayerInfo(cl_uint name, size_t size, void *value, size_t *size_ret)
{
    static const char title[] = "vXPU limiter";
    const cl_uint version = VX_LAYER_API_VERSION_100;
    const void *from = name == CL_LAYER_NAME ? (const void *)title : &version;
    size_t need = name == CL_LAYER_NAME ? sizeof title : sizeof version;
    if (name != CL_LAYER_NAME && name != CL_LAYER_API_VERSION)
        return CL_INVALID_VALUE;
    if (value && size < need)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, from, need);
    if (size_ret)
        *size_ret = need;
    return CL_SUCCESS;
}

/* In the program's own scope: then our names already come first. */
static bool is_preloaded(void)
{
    void *program = dlopen(NULL, RTLD_LAZY);
    bool found = program && vx_libc_dlsym()(program, "clGetLayerInfo");
    if (program)
        dlclose(program);
    return found;
}

cl_int clInitLayer(cl_uint num_entries, void *const *target,
                   cl_uint *num_entries_ret, void *const **layer)
{
    static void *dispatch[VX_DISPATCH_ENTRIES];
    if (!target || !num_entries_ret || !layer)
        return CL_INVALID_VALUE;
    cl_uint n = num_entries < VX_DISPATCH_ENTRIES ? num_entries
                                                  : VX_DISPATCH_ENTRIES;
    memcpy(dispatch, target, n * sizeof *dispatch);
    /* Never charge twice when both ways of injection are active. */
    if (!is_preloaded()) {
        vx_real_from_table(target, n);
        vx_wrappers_into_table(dispatch, n);
    }
    vx_log(2, "layer started with %u entries", n);
    *num_entries_ret = n;
    *layer = dispatch;
    return CL_SUCCESS;
}
