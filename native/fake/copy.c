#include "copy.h"

#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "memory.h"

_Static_assert(sizeof(struct vf_box) <= VF_ARG_BYTES, "kept by value");

/* ---- what a descriptor means ------------------------------------------------ */

struct operand {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z, pitch, height;
};

static CUresult place_array(const struct operand *o, const struct vf_box *box,
                            unsigned char **at, size_t *row, size_t *slice)
{
    struct vf_array_view view;
    if (!vf_array_view(o->array, &view))
        return CUDA_ERROR_INVALID_HANDLE;
    *row = view.width_bytes;
    *slice = view.width_bytes * view.height;
    if (o->x + box->width > view.width_bytes ||
        o->y + box->height > view.height || o->z + box->depth > view.depth)
        return CUDA_ERROR_INVALID_VALUE;
    *at = view.data + o->x + o->y * *row + o->z * *slice;
    return CUDA_SUCCESS;
}

static CUresult place(const struct operand *o, const struct vf_box *box,
                      unsigned char **at, size_t *row, size_t *slice)
{
    if (o->type == CU_MEMORYTYPE_ARRAY)
        return place_array(o, box, at, row, slice);
    *row = o->pitch ? o->pitch : box->width;
    *slice = *row * (o->height ? o->height : box->height);
    uint64_t base = o->type == CU_MEMORYTYPE_HOST ? (uintptr_t)o->host
                                                  : o->device;
    uint64_t first = base + o->x + o->y * *row + o->z * *slice;
    uint64_t bytes = (box->depth - 1) * *slice + (box->height - 1) * *row +
                     box->width;
    struct vf_range range;
    if (!base || (box->height > 1 && *row < box->width))
        return CUDA_ERROR_INVALID_VALUE;
    /* Unified addresses may be anything of the host's. */
    bool ours = o->type == CU_MEMORYTYPE_DEVICE ||
                (o->type == CU_MEMORYTYPE_UNIFIED &&
                 vf_describe(first, &range));
    if (o->type != CU_MEMORYTYPE_HOST && ours &&
        !vf_is_device_range(first, bytes) && !vf_describe(first, &range))
        return CUDA_ERROR_INVALID_VALUE;
    if (o->type == CU_MEMORYTYPE_DEVICE && vf_describe(first, &range) &&
        first + bytes > range.base + range.size)
        return CUDA_ERROR_INVALID_VALUE;
    *at = (unsigned char *)(uintptr_t)first;
    return CUDA_SUCCESS;
}

CUresult vf_copy_box(const CUDA_MEMCPY3D *c, struct vf_box *box)
{
    struct operand from = {c->srcMemoryType, c->srcHost, c->srcDevice,
                           c->srcArray, c->srcXInBytes, c->srcY, c->srcZ,
                           c->srcPitch, c->srcHeight};
    struct operand to = {c->dstMemoryType, c->dstHost, c->dstDevice,
                         c->dstArray, c->dstXInBytes, c->dstY, c->dstZ,
                         c->dstPitch, c->dstHeight};
    unsigned char *source = NULL;
    *box = (struct vf_box){.width = c->WidthInBytes, .height = c->Height,
                           .depth = c->Depth};
    if (!box->width || !box->height || !box->depth)
        return CUDA_SUCCESS;
    if (from.type < CU_MEMORYTYPE_HOST || from.type > CU_MEMORYTYPE_UNIFIED ||
        to.type < CU_MEMORYTYPE_HOST || to.type > CU_MEMORYTYPE_UNIFIED)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = place(&from, box, &source, &box->from_row, &box->from_slice);
    if (!r)
        r = place(&to, box, &box->to, &box->to_row, &box->to_slice);
    box->from = source;
    return r;
}

CUDA_MEMCPY3D vf_copy_line(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                           CUmemorytype to_type, CUmemorytype from_type)
{
    CUDA_MEMCPY3D copy = {.srcMemoryType = from_type, .dstMemoryType = to_type,
                          .srcDevice = from, .dstDevice = to,
                          .srcHost = (const void *)(uintptr_t)from,
                          .dstHost = (void *)(uintptr_t)to,
                          .WidthInBytes = bytes, .Height = 1, .Depth = 1};
    return copy;
}

/* ---- moving ---------------------------------------------------------------------- */

static void fill_row(unsigned char *to, const struct vf_box *box)
{
    if (box->element == 1) {
        memset(to, (int)box->value, box->width);
        return;
    }
    for (size_t x = 0; x + box->element <= box->width; x += box->element)
        memcpy(to + x, &box->value, box->element); /* little endian */
}

void vf_box_run(void *arg)
{
    struct vf_box *box = arg;
    for (size_t z = 0; z < box->depth; z++)
        for (size_t y = 0; y < box->height; y++) {
            unsigned char *to = box->to + z * box->to_slice + y * box->to_row;
            if (box->from)
                memmove(to, box->from + z * box->from_slice +
                                y * box->from_row, box->width);
            else
                fill_row(to, box);
        }
    free(box->staged);
}

void vf_box_command(const struct vf_card *card, struct vf_box *box,
                    struct vf_command *command)
{
    uint64_t rate = box->from ? vf_knob(card, copy_bytes_per_second)
                              : vf_knob(card, fill_bytes_per_second);
    double bytes = (double)box->width * (double)box->height *
                   (double)box->depth;
    *command = (struct vf_command){
        .kind = VF_COPY, .effect = vf_box_run, .arg = box,
        .copy_arg = sizeof *box,
        .duration_ns = (uint64_t)(bytes * 1e9 / (double)(rate ? rate : 1))};
}

/* ---- asking ------------------------------------------------------------------------- */

static bool is_pageable(const void *at)
{
    struct vf_range range;
    return !vf_describe((uintptr_t)at, &range);
}

/*
 * A pageable source may be gone when the card gets to the copy: the driver
 * takes it at once. What goes to pageable memory is waited for.
 */
static CUresult stage(struct vf_box *box)
{
    if (!is_pageable(box->from))
        return CUDA_SUCCESS;
    size_t rows = box->height * box->depth;
    struct vf_box copy = *box;
    copy.to = box->staged = malloc(rows * box->width);
    if (!copy.to)
        return CUDA_ERROR_OUT_OF_MEMORY;
    copy.to_row = box->width;
    copy.to_slice = box->width * box->height;
    copy.staged = NULL;
    vf_box_run(&copy);
    box->from = copy.to;
    box->from_row = copy.to_row;
    box->from_slice = copy.to_slice;
    return CUDA_SUCCESS;
}

static CUresult move(struct CUstream_st *stream, enum vf_when when,
                     struct vf_box *box)
{
    struct vf_work work = {.timed = NULL};
    uint64_t number;
    CUresult r = when == VF_ASYNC ? stage(box) : CUDA_SUCCESS;
    if (r)
        return r;
    vf_box_command(stream->lane->card, box, &work.command);
    bool wait = when == VF_WAIT || is_pageable(box->to);
    r = vf_submit(stream, &work, &number);
    if (r)
        free(box->staged);
    else if (wait)
        vf_lane_wait(stream->lane, number);
    return r;
}

CUresult vf_copy(const char *call, enum vf_twin twin, enum vf_when when,
                 CUstream handle, const CUDA_MEMCPY3D *copy)
{
    struct CUstream_st *stream;
    struct vf_box box;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (!r)
        r = vf_copy_box(copy, &box);
    if (r)
        return r;
    CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_MEMCPY,
                              .memcpy = {.copyCtx = vf_current_context(),
                                         .copyParams = *copy}};
    if (when == VF_ASYNC && vf_capture_node(stream, &node, &r))
        return r;
    if (!box.width || !box.height || !box.depth)
        return CUDA_SUCCESS;
    return move(stream, when, &box);
}
