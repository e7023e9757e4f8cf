/*
 * Arrays. A card stores them in rows of a multiple of 512 bytes; that is what
 * they take. Their addresses are no device pointers.
 */
#include "array.h"

#include <stdlib.h>
#include <sys/mman.h>

static unsigned format_bytes(CUarray_format format)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X1:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X1:
        return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4;
    default:
        return 0; /* planar and compressed ones are not simulated */
    }
}

static uint64_t row_bytes(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    return shape->Width * format_bytes(shape->Format) * shape->NumChannels;
}

uint64_t vf_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    const uint64_t most = 1 << 18; /* elements in a direction */
    unsigned channels = shape->NumChannels;
    if (shape->Width == 0 || shape->Width > most || shape->Height > most ||
        shape->Depth > most || format_bytes(shape->Format) == 0 ||
        (channels != 1 && channels != 2 && channels != 4))
        return 0;
    uint64_t height = shape->Height ? shape->Height : 1;
    uint64_t depth = shape->Depth ? shape->Depth : 1;
    uint64_t row = vf_round_up(row_bytes(shape), VF_PITCH_BYTES);
    return row * height * depth;
}

/* As a range would take it: arrays share the rule of plain memory. */
static bool take_for(CUarray array)
{
    struct vf_range like = {.size = array->size, .device = array->device};
    bool taken = vf_take_for(&like);
    array->taken = like.taken;
    array->small = like.small;
    return taken;
}

static void give_for(CUarray array)
{
    struct vf_range like = {.taken = array->taken, .small = array->small,
                            .device = array->device};
    vf_give_for(&like);
}

void vf_array_free(CUarray array)
{
    give_for(array);
    if (array->bytes)
        vf_unmap(array->bytes, vf_round_up(array->size, 4096));
    vf_handle_drop(array);
    free(array);
}

CUresult vf_array_new(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *shape,
                      CUcontext context, bool paid)
{
    CUarray array = calloc(1, sizeof *array);
    if (!array || !vf_handle_add(array, VF_HANDLE_ARRAY)) {
        free(array);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    array->shape = *shape;
    array->context = context;
    array->device = context->device;
    array->row_bytes = row_bytes(shape);
    array->size = vf_array_bytes(shape);
    if (!paid || take_for(array))
        array->bytes = vf_map(vf_round_up(array->size, 4096), 4096,
                              PROT_READ | PROT_WRITE);
    if (!array->bytes) {
        vf_array_free(array);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = array;
    return CUDA_SUCCESS;
}

static CUresult create(const char *call, CUarray *out,
                       const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    CUcontext context;
    CUresult r = vf_enter_owner(call, &context);
    if (r)
        return r;
    if (vf_array_bytes(shape) == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (shape->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
        return CUDA_ERROR_NOT_SUPPORTED;
    r = vf_capture_forbids();
    if (r)
        return r;
    vf_memory_lock();
    r = vf_array_new(out, shape, context, true);
    vf_memory_unlock();
    return r;
}

VF_EXPORT CUresult cuArray3DCreate_v2(CUarray *out,
                                      const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    return out && shape ? create("cuArray3DCreate_v2", out, shape)
                        : CUDA_ERROR_INVALID_VALUE;
}

VF_EXPORT CUresult cuArray3DCreate(CUarray *out,
                                   const CUDA_ARRAY3D_DESCRIPTOR_v1 *shape)
{
    if (!out || !shape)
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_ARRAY3D_DESCRIPTOR wide = {shape->Width, shape->Height,
                                          shape->Depth, shape->Format,
                                          shape->NumChannels, shape->Flags};
    return create("cuArray3DCreate", out, &wide);
}

VF_EXPORT CUresult cuArrayCreate_v2(CUarray *out,
                                    const CUDA_ARRAY_DESCRIPTOR *shape)
{
    if (!out || !shape)
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_ARRAY3D_DESCRIPTOR wide = {shape->Width, shape->Height, 0,
                                          shape->Format, shape->NumChannels, 0};
    return create("cuArrayCreate_v2", out, &wide);
}

VF_EXPORT CUresult cuArrayCreate(CUarray *out,
                                 const CUDA_ARRAY_DESCRIPTOR_v1 *shape)
{
    if (!out || !shape)
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_ARRAY3D_DESCRIPTOR wide = {shape->Width, shape->Height, 0,
                                          shape->Format, shape->NumChannels, 0};
    return create("cuArrayCreate", out, &wide);
}

VF_EXPORT CUresult cuArrayDestroy(CUarray array)
{
    CUresult r = vf_enter_driver("cuArrayDestroy");
    if (r)
        return r;
    vf_memory_lock();
    bool ours = vf_handle_is(array, VF_HANDLE_ARRAY) && !array->whole;
    struct vf_card *card = ours ? vf_device_card(array->device) : NULL;
    vf_memory_unlock();
    if (!ours)
        return CUDA_ERROR_INVALID_HANDLE;
    vf_card_wait(card);
    vf_memory_lock();
    if (vf_handle_is(array, VF_HANDLE_ARRAY))
        vf_array_free(array);
    vf_memory_unlock();
    return CUDA_SUCCESS;
}

static void drop_of(void *object, void *argument)
{
    CUarray array = object;
    if (array->context == (CUcontext)argument && !array->whole)
        vf_array_free(array);
}

static void drop_mipmap_of(void *object, void *argument)
{
    CUmipmappedArray whole = object;
    if (whole->context != (CUcontext)argument)
        return;
    for (unsigned i = 0; i < whole->levels; i++)
        vf_array_free(whole->level[i]);
    vf_handle_drop(whole);
    free(whole);
}

void vf_arrays_drop_of(CUcontext context)
{
    vf_handles_each(VF_HANDLE_MIPMAP, drop_mipmap_of, context);
    vf_handles_each(VF_HANDLE_ARRAY, drop_of, context);
}

bool vf_array_view(CUarray array, struct vf_array_view *view)
{
    vf_memory_lock();
    bool ours = vf_handle_is(array, VF_HANDLE_ARRAY);
    if (ours)
        *view = (struct vf_array_view){
            array->bytes, array->row_bytes,
            array->shape.Height ? array->shape.Height : 1,
            array->shape.Depth ? array->shape.Depth : 1};
    vf_memory_unlock();
    return ours;
}
