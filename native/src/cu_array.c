/* Arrays: charged by their description, before the driver makes them. */
#include "cu_memory.h"

/* Bits of one element: channels x width, or the format's own. */
static uint64_t element_bits(int format, uint64_t channels)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return 8 * channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 16 * channels;
    case CU_AD_FORMAT_BC1_UNORM:
    case CU_AD_FORMAT_BC1_UNORM_SRGB:
    case CU_AD_FORMAT_BC4_UNORM:
    case CU_AD_FORMAT_BC4_SNORM:
        return 4;
    case CU_AD_FORMAT_NV12:
        return 12;
    case CU_AD_FORMAT_P010:
    case CU_AD_FORMAT_P016:
        return 24;
    default:
        break;
    }
    if (format >= CU_AD_FORMAT_BC1_UNORM &&
        format <= CU_AD_FORMAT_BC7_UNORM_SRGB)
        return 8;
    if (format >= CU_AD_FORMAT_UNORM_INT8X1 &&
        format <= CU_AD_FORMAT_SNORM_INT16X4) {
        static const unsigned char bits[] = {8, 16, 32, 16, 32, 64};
        return bits[(format - CU_AD_FORMAT_UNORM_INT8X1) % 6];
    }
    /* What we do not know is taken as the widest. */
    return 32 * (channels ? channels : 1);
}

static uint64_t times(uint64_t a, uint64_t b)
{
    return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

static uint64_t level_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned level)
{
    bool layered = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    uint64_t w = d->Width >> level, h = d->Height >> level;
    uint64_t z = layered ? d->Depth : d->Depth >> level;
    uint64_t elements = times(times(w ? w : 1, h ? h : 1), z ? z : 1);
    uint64_t bits = times(elements, element_bits(d->Format, d->NumChannels));
    return bits == UINT64_MAX ? bits : (bits + 7) / 8;
}

static uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < levels && i < 32; i++) {
        uint64_t bytes = level_bytes(d, i);
        sum = sum > UINT64_MAX - bytes ? UINT64_MAX : sum + bytes;
    }
    return vx_cu_round(sum);
}

/* Sparse and deferred arrays have no memory until some is bound to them. */
static CUresult reserve_array(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels,
                              struct vx_charge **c)
{
    int device = vx_cu_current_device();
    bool empty = d->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING);
    CUresult err = vx_cu_reserve(empty && device >= 0 ? VX_DEVICE_HOST : device,
                                 VX_MEMORY_DEVICE, array_bytes(d, levels), c);
    if (*c)
        (*c)->owner = vx_cu_owner(device);
    return err;
}

CUresult cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *d)
{
    struct vx_charge *c = NULL;
    CUresult err = CUDA_SUCCESS;
    if (d)
        err = reserve_array(&(CUDA_ARRAY3D_DESCRIPTOR){
                                .Width = d->Width, .Height = d->Height,
                                .Format = d->Format,
                                .NumChannels = d->NumChannels},
                            1, &c);
    if (err != CUDA_SUCCESS)
        return err;
    err = vx_cu()->cuArrayCreate_v2(out, d);
    return vx_cu_settle(c, err, VX_SPACE_ARRAY, err ? 0 : (uintptr_t)*out);
}

CUresult cuArrayCreate(CUarray *out, const CUDA_ARRAY_DESCRIPTOR_v1 *d)
{
    struct vx_charge *c = NULL;
    CUresult err = CUDA_SUCCESS;
    if (d)
        err = reserve_array(&(CUDA_ARRAY3D_DESCRIPTOR){
                                .Width = d->Width, .Height = d->Height,
                                .Format = d->Format,
                                .NumChannels = d->NumChannels},
                            1, &c);
    if (err != CUDA_SUCCESS)
        return err;
    err = vx_cu()->cuArrayCreate(out, d);
    return vx_cu_settle(c, err, VX_SPACE_ARRAY, err ? 0 : (uintptr_t)*out);
}

CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    struct vx_charge *c = NULL;
    CUresult err = d ? reserve_array(d, 1, &c) : CUDA_SUCCESS;
    if (err != CUDA_SUCCESS)
        return err;
    err = vx_cu()->cuArray3DCreate_v2(out, d);
    return vx_cu_settle(c, err, VX_SPACE_ARRAY, err ? 0 : (uintptr_t)*out);
}

CUresult cuArray3DCreate(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR_v1 *d)
{
    struct vx_charge *c = NULL;
    CUresult err = CUDA_SUCCESS;
    if (d)
        err = reserve_array(&(CUDA_ARRAY3D_DESCRIPTOR){
                                .Width = d->Width, .Height = d->Height,
                                .Depth = d->Depth, .Format = d->Format,
                                .NumChannels = d->NumChannels,
                                .Flags = d->Flags},
                            1, &c);
    if (err != CUDA_SUCCESS)
        return err;
    err = vx_cu()->cuArray3DCreate(out, d);
    return vx_cu_settle(c, err, VX_SPACE_ARRAY, err ? 0 : (uintptr_t)*out);
}

CUresult cuArrayDestroy(CUarray array)
{
    struct vx_charge *c = vx_cu_take(VX_SPACE_ARRAY, (uintptr_t)array);
    return vx_cu_freed(c, vx_cu()->cuArrayDestroy(array), VX_SPACE_ARRAY,
                       (uintptr_t)array);
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *out,
                                const CUDA_ARRAY3D_DESCRIPTOR *d,
                                unsigned int levels)
{
    struct vx_charge *c = NULL;
    CUresult err = d ? reserve_array(d, levels, &c) : CUDA_SUCCESS;
    if (err != CUDA_SUCCESS)
        return err;
    err = vx_cu()->cuMipmappedArrayCreate(out, d, levels);
    return vx_cu_settle(c, err, VX_SPACE_ARRAY, err ? 0 : (uintptr_t)*out);
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array)
{
    struct vx_charge *c = vx_cu_take(VX_SPACE_ARRAY, (uintptr_t)array);
    return vx_cu_freed(c, vx_cu()->cuMipmappedArrayDestroy(array),
                       VX_SPACE_ARRAY, (uintptr_t)array);
}
