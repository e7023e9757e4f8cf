/* Arrays: what array.c, mipmap.c and external.c share. */
#ifndef VXPU_FAKE_ARRAY_H
#define VXPU_FAKE_ARRAY_H

#include "memory.h"

struct CUarray_st {
    CUDA_ARRAY3D_DESCRIPTOR shape;
    CUcontext context;
    CUdevice device;
    CUmipmappedArray whole; /* a level of it, else NULL */
    unsigned char *bytes;
    uint64_t row_bytes, size; /* size: in address space */
    uint64_t taken, small;    /* of the card; a level takes nothing itself */
};

struct CUmipmappedArray_st {
    CUcontext context;
    unsigned levels;
    bool external; /* a view of memory that someone else pays for */
    CUarray level[16];
};

enum { VF_MIPMAP_LEVELS = 16 };

/* Checks a shape: its bytes as the card lays them out, 0 for a wrong one. */
uint64_t vf_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *shape);
/* Lock held. `paid`: it takes the card's bytes. */
CUresult vf_array_new(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *shape,
                      CUcontext context, bool paid);
void vf_array_free(CUarray array);
CUresult vf_mipmap_new(CUmipmappedArray *out,
                       const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels,
                       CUcontext context, bool paid);

#endif
