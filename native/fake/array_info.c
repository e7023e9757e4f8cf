/* Mipmapped arrays, and what may be asked of arrays. */
#include <stdlib.h>
#include <string.h>

#include "array.h"

static size_t half(size_t extent)
{
    return extent > 1 ? extent / 2 : extent;
}

CUresult vf_mipmap_new(CUmipmappedArray *out,
                       const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels,
                       CUcontext context, bool paid)
{
    CUDA_ARRAY3D_DESCRIPTOR level = *shape;
    CUmipmappedArray whole = calloc(1, sizeof *whole);
    CUresult r = whole ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; r == CUDA_SUCCESS && i < levels; i++) {
        r = vf_array_new(&whole->level[i], &level, context, paid);
        if (r)
            break;
        whole->level[i]->whole = whole;
        whole->levels++;
        level.Width = half(level.Width);
        level.Height = half(level.Height);
        level.Depth = half(level.Depth);
    }
    if (r == CUDA_SUCCESS && vf_handle_add(whole, VF_HANDLE_MIPMAP)) {
        whole->context = context;
        whole->external = !paid;
        *out = whole;
        return CUDA_SUCCESS;
    }
    for (unsigned i = 0; whole && i < whole->levels; i++)
        vf_array_free(whole->level[i]);
    free(whole);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

VF_EXPORT CUresult cuMipmappedArrayCreate(CUmipmappedArray *out,
                                          const CUDA_ARRAY3D_DESCRIPTOR *shape,
                                          unsigned levels)
{
    CUcontext context;
    CUresult r = vf_enter_owner("cuMipmappedArrayCreate", &context);
    if (r)
        return r;
    if (!out || !shape || vf_array_bytes(shape) == 0 || levels == 0 ||
        levels > VF_MIPMAP_LEVELS)
        return CUDA_ERROR_INVALID_VALUE;
    if (shape->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
        return CUDA_ERROR_NOT_SUPPORTED;
    r = vf_capture_forbids();
    if (r)
        return r;
    vf_memory_lock();
    r = vf_mipmap_new(out, shape, levels, context, true);
    vf_memory_unlock();
    return r;
}

VF_EXPORT CUresult cuMipmappedArrayGetLevel(CUarray *out,
                                            CUmipmappedArray whole,
                                            unsigned level)
{
    CUresult r = vf_enter_driver("cuMipmappedArrayGetLevel");
    if (r)
        return r;
    vf_memory_lock();
    if (!vf_handle_is(whole, VF_HANDLE_MIPMAP))
        r = CUDA_ERROR_INVALID_HANDLE;
    else if (!out || level >= whole->levels)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        *out = whole->level[level];
    vf_memory_unlock();
    return r;
}

VF_EXPORT CUresult cuMipmappedArrayDestroy(CUmipmappedArray whole)
{
    CUresult r = vf_enter_driver("cuMipmappedArrayDestroy");
    if (r)
        return r;
    vf_memory_lock();
    bool ours = vf_handle_is(whole, VF_HANDLE_MIPMAP);
    struct vf_card *card = ours ? vf_device_card(whole->context->device) : NULL;
    vf_memory_unlock();
    if (!ours)
        return CUDA_ERROR_INVALID_HANDLE;
    vf_card_wait(card);
    vf_memory_lock();
    if (vf_handle_is(whole, VF_HANDLE_MIPMAP)) {
        for (unsigned i = 0; i < whole->levels; i++)
            vf_array_free(whole->level[i]);
        vf_handle_drop(whole);
        free(whole);
    }
    vf_memory_unlock();
    return CUDA_SUCCESS;
}

static CUresult shape_of(const char *call, CUarray array,
                         CUDA_ARRAY3D_DESCRIPTOR *out)
{
    CUresult r = vf_enter_driver(call);
    if (r)
        return r;
    vf_memory_lock();
    if (vf_handle_is(array, VF_HANDLE_ARRAY))
        *out = array->shape;
    else
        r = CUDA_ERROR_INVALID_HANDLE;
    vf_memory_unlock();
    return r;
}

VF_EXPORT CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *out,
                                             CUarray array)
{
    return out ? shape_of("cuArray3DGetDescriptor_v2", array, out)
               : CUDA_ERROR_INVALID_VALUE;
}

VF_EXPORT CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR_v1 *out,
                                          CUarray array)
{
    CUDA_ARRAY3D_DESCRIPTOR s;
    CUresult r = out ? shape_of("cuArray3DGetDescriptor", array, &s)
                     : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *out = (CUDA_ARRAY3D_DESCRIPTOR_v1){
            (unsigned)s.Width, (unsigned)s.Height, (unsigned)s.Depth,
            s.Format, s.NumChannels, s.Flags};
    return r;
}

VF_EXPORT CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *out,
                                           CUarray array)
{
    CUDA_ARRAY3D_DESCRIPTOR s;
    CUresult r = out ? shape_of("cuArrayGetDescriptor_v2", array, &s)
                     : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *out = (CUDA_ARRAY_DESCRIPTOR){s.Width, s.Height, s.Format,
                                       s.NumChannels};
    return r;
}

VF_EXPORT CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR_v1 *out,
                                        CUarray array)
{
    CUDA_ARRAY3D_DESCRIPTOR s;
    CUresult r = out ? shape_of("cuArrayGetDescriptor", array, &s)
                     : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *out = (CUDA_ARRAY_DESCRIPTOR_v1){(unsigned)s.Width,
                                          (unsigned)s.Height, s.Format,
                                          s.NumChannels};
    return r;
}

/* A real driver asks for deferred mapping; here every array answers. */
VF_EXPORT CUresult cuArrayGetMemoryRequirements(
    CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUarray array, CUdevice device)
{
    CUDA_ARRAY3D_DESCRIPTOR shape;
    CUresult r = shape_of("cuArrayGetMemoryRequirements", array, &shape);
    if (r)
        return r;
    if (!out || !vf_device_card(device))
        return CUDA_ERROR_INVALID_VALUE;
    memset(out, 0, sizeof *out);
    out->size = vf_round_up(vf_array_bytes(&shape), VF_PAGE_BYTES);
    out->alignment = VF_PAGE_BYTES;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuMipmappedArrayGetMemoryRequirements(
    CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUmipmappedArray whole,
    CUdevice device)
{
    CUresult r = vf_enter_driver("cuMipmappedArrayGetMemoryRequirements");
    if (r)
        return r;
    if (!out || !vf_device_card(device))
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t bytes = 0;
    vf_memory_lock();
    if (!vf_handle_is(whole, VF_HANDLE_MIPMAP))
        r = CUDA_ERROR_INVALID_HANDLE;
    else
        for (unsigned i = 0; i < whole->levels; i++)
            bytes += whole->level[i]->size;
    vf_memory_unlock();
    memset(out, 0, sizeof *out);
    out->size = vf_round_up(bytes, VF_PAGE_BYTES);
    out->alignment = VF_PAGE_BYTES;
    return r;
}
