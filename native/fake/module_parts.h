/* What module.c and library.c share. */
#ifndef VXPU_FAKE_MODULE_PARTS_H
#define VXPU_FAKE_MODULE_PARTS_H

#include "image.h"
#include "module.h"

#define VF_MODULE_MAGIC 0x6d6f6475U
#define VF_LIBRARY_MAGIC 0x6c696272U

struct vf_global {
    struct vf_global *next;
    char name[256];
    CUdeviceptr at;
    uint64_t bytes;
};

struct CUmodule_st {
    uint32_t magic;
    enum vf_image kind;
    CUcontext context; /* NULL: a library that no context loaded yet */
    CUdevice device;
    struct CUfunction_st *functions;
    unsigned function_count;
    struct vf_global *globals;
    bool out_of_memory;
    struct CUmodule_st *next;
};

CUresult vf_module_find(CUmodule module);
CUresult vf_module_load(CUcontext context, const void *image, CUmodule *out);
void vf_module_drop(CUmodule module);
CUresult vf_module_function(CUmodule module, const char *name,
                            CUfunction *out);
CUresult vf_module_global(CUmodule module, const char *name, CUdeviceptr *at,
                          size_t *bytes);
char *vf_read_file(const char *path);

#endif
