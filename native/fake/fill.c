/* cuMemset: fills of rows of 1, 2 or 4 byte elements. */
#include "capture.h"
#include "copy.h"

CUresult vf_fill_box(const CUDA_MEMSET_NODE_PARAMS_v2 *f, struct vf_box *box)
{
    size_t row = f->width * f->elementSize;
    *box = (struct vf_box){
        .to = (unsigned char *)(uintptr_t)f->dst, .to_row = f->pitch,
        .width = row, .height = f->height, .depth = 1, .value = f->value,
        .element = f->elementSize};
    if (f->elementSize != 1 && f->elementSize != 2 && f->elementSize != 4)
        return CUDA_ERROR_INVALID_VALUE;
    if (!row || !f->height)
        return CUDA_SUCCESS;
    if (f->dst % f->elementSize || (f->height > 1 && f->pitch < row) ||
        !vf_is_device_range(f->dst, (f->height - 1) * f->pitch + row))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* The forms without Async return at once too: the card does the work. */
static CUresult fill(const char *call, enum vf_twin twin, CUstream handle,
                     const CUDA_MEMSET_NODE_PARAMS_v2 *what)
{
    struct CUstream_st *stream;
    struct vf_box box;
    struct vf_work work = {.timed = NULL};
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (!r)
        r = vf_fill_box(what, &box);
    if (r)
        return r;
    CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_MEMSET,
                              .memset = *what};
    if (vf_capture_node(stream, &node, &r))
        return r;
    if (!box.width || !box.height)
        return CUDA_SUCCESS;
    vf_box_command(stream->lane->card, &box, &work.command);
    return vf_submit(stream, &work, NULL);
}

static CUresult fill_rows(const char *call, enum vf_twin twin, CUstream stream,
                          CUdeviceptr to, size_t pitch, unsigned value,
                          unsigned element, size_t width, size_t height)
{
    CUDA_MEMSET_NODE_PARAMS_v2 what = {to, pitch, value, element, width,
                                       height, vf_current_context()};
    return fill(call, twin, stream, &what);
}

#define LINE(name, twin, type, address, size, decl, stream)               \
    VF_EXPORT CUresult name(address to, type value, size count decl)      \
    {                                                                     \
        return fill_rows(#name, twin, stream, to, 0, value, sizeof value, \
                         count, 1);                                       \
    }
#define ROWS(name, twin, type, address, size, decl, stream)               \
    VF_EXPORT CUresult name(address to, size pitch, type value,           \
                            size width, size height decl)                 \
    {                                                                     \
        return fill_rows(#name, twin, stream, to, pitch, value,           \
                         sizeof value, width, height);                    \
    }
#define NO_STREAM
#define IN_STREAM , CUstream stream
#define FORMS(shape, name, type)                                          \
    shape(name, VF_LEGACY, type, CUdeviceptr_v1, unsigned, NO_STREAM,     \
          NULL)                                                           \
    shape(name##_v2, VF_LEGACY, type, CUdeviceptr, size_t, NO_STREAM,     \
          NULL)                                                           \
    shape(name##_v2_ptds, VF_PER_THREAD, type, CUdeviceptr, size_t,       \
          NO_STREAM, NULL)                                                \
    shape(name##Async, VF_LEGACY, type, CUdeviceptr, size_t, IN_STREAM,   \
          stream)                                                         \
    shape(name##Async_ptsz, VF_PER_THREAD, type, CUdeviceptr, size_t,     \
          IN_STREAM, stream)

FORMS(LINE, cuMemsetD8, unsigned char)
FORMS(LINE, cuMemsetD16, unsigned short)
FORMS(LINE, cuMemsetD32, unsigned)
FORMS(ROWS, cuMemsetD2D8, unsigned char)
FORMS(ROWS, cuMemsetD2D16, unsigned short)
FORMS(ROWS, cuMemsetD2D32, unsigned)
