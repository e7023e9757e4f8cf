/* Copies and fills: every shape is a box of rows from here to there. */
#ifndef VXPU_FAKE_COPY_H
#define VXPU_FAKE_COPY_H

#include "stream.h"

struct vf_box {
    unsigned char *to;
    const unsigned char *from; /* NULL: a fill with `value` */
    size_t to_row, to_slice, from_row, from_slice; /* bytes apart */
    size_t width, height, depth;                   /* width in bytes */
    uint32_t value, element;                       /* bytes: 1, 2 or 4 */
    void *staged; /* freed afterwards */
};

/* The box that a descriptor means; checks that it lies in live memory. */
CUresult vf_copy_box(const CUDA_MEMCPY3D *copy, struct vf_box *box);
CUresult vf_fill_box(const CUDA_MEMSET_NODE_PARAMS_v2 *fill,
                     struct vf_box *box);
/* The command that moves it; points at `box`. */
void vf_box_command(const struct vf_card *card, struct vf_box *box,
                    struct vf_command *command);
void vf_box_run(void *box);

/* One copy as the program asked: now (waits) or in a stream. */
enum vf_when { VF_WAIT, VF_ASYNC };
CUresult vf_copy(const char *call, enum vf_twin twin, enum vf_when when,
                 CUstream stream, const CUDA_MEMCPY3D *copy);
CUDA_MEMCPY3D vf_copy_line(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                           CUmemorytype to_type, CUmemorytype from_type);

#endif
