/* Look-ups by name through OpenCL itself. */
#include <string.h>

#include "layer.h"

/*
 * Extension calls that take device memory and that we do not charge: a slice
 * does not get them, whatever the device's extension string says.
 */
static bool takes_memory_unseen(const char *name)
{
    static const char *const names[] = {
        "clSVMAllocARM", "clImportMemoryARM", "clHostMemAllocINTEL",
        "clDeviceMemAllocINTEL", "clSharedMemAllocINTEL",
        "clCreateBufferWithPropertiesINTEL",
        "clCreateImageWithPropertiesINTEL"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* The runtime's answer decides whether there is one; we only swap it. */
static void *swap(const char *name, void *found)
{
    if (!found || !name)
        return found;
    enum vx_mode mode = vx_layer_mode();
    if (mode != VX_PASS && takes_memory_unseen(name))
        return NULL;
    void *wrapper = vx_wrapper_of(name);
    if (!wrapper)
        return found;
    vx_real_learn(name, found);
    return wrapper;
}

void *clGetExtensionFunctionAddress(const char *name)
{
    return swap(name, vx_real()->clGetExtensionFunctionAddress(name));
}

void *clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
                                               const char *name)
{
    return swap(name, vx_real()->clGetExtensionFunctionAddressForPlatform(
                          platform, name));
}
