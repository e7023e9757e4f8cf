/* Size of an image from its description. */
#include "layer.h"

enum {
    KIND_2D = 0x10F1, KIND_3D, KIND_2D_ARRAY, KIND_1D, KIND_1D_ARRAY,
    KIND_1D_BUFFER
};

enum {
    ORDER_R = 0x10B0, ORDER_A, ORDER_RG, ORDER_RA, ORDER_RGB, ORDER_RGBA,
    ORDER_BGRA, ORDER_ARGB, ORDER_INTENSITY, ORDER_LUMINANCE, ORDER_RX,
    ORDER_RGX, ORDER_RGBX, ORDER_DEPTH, ORDER_DEPTH_STENCIL, ORDER_SRGB,
    ORDER_SRGBX, ORDER_SRGBA, ORDER_SBGRA, ORDER_ABGR
};

enum {
    TYPE_SNORM8 = 0x10D0, TYPE_SNORM16, TYPE_UNORM8, TYPE_UNORM16,
    TYPE_UNORM565, TYPE_UNORM555, TYPE_UNORM101010, TYPE_S8, TYPE_S16,
    TYPE_S32, TYPE_U8, TYPE_U16, TYPE_U32, TYPE_HALF, TYPE_FLOAT
};

static unsigned channels(cl_uint order)
{
    switch (order) {
    case ORDER_R: case ORDER_A: case ORDER_INTENSITY: case ORDER_LUMINANCE:
    case ORDER_DEPTH: case ORDER_DEPTH_STENCIL:
        return 1;
    case ORDER_RG: case ORDER_RA: case ORDER_RX:
        return 2;
    default:
        return 4; /* three channels are stored as four */
    }
}

/* Bytes of one element; packed types hold all channels in one word. */
static unsigned element_bytes(const cl_image_format *f)
{
    switch (f->channel_type) {
    case TYPE_SNORM8: case TYPE_UNORM8: case TYPE_S8: case TYPE_U8:
        return channels(f->channel_order);
    case TYPE_SNORM16: case TYPE_UNORM16: case TYPE_S16: case TYPE_U16:
    case TYPE_HALF:
        return 2 * channels(f->channel_order);
    case TYPE_UNORM565: case TYPE_UNORM555:
        return 2;
    case TYPE_UNORM101010:
        return 4;
    default:
        return 4 * channels(f->channel_order);
    }
}

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* A dimension that the kind has not may hold anything: it counts as one. */
static uint64_t extent(size_t n, bool counts)
{
    return counts && n ? n : 1;
}

uint64_t vx_image_bytes(const cl_image_format *format,
                        const cl_image_desc *d)
{
    cl_uint kind = d->type;
    bool flat = kind == KIND_1D || kind == KIND_1D_ARRAY;
    bool array = kind == KIND_2D_ARRAY || kind == KIND_1D_ARRAY;
    uint64_t row = times(extent(d->width, true), element_bytes(format));
    row = d->row_pitch > row ? d->row_pitch : row;
    uint64_t slice = times(row, extent(d->height, !flat));
    bool pitched = array || kind == KIND_3D;
    slice = pitched && d->slice_pitch > slice ? d->slice_pitch : slice;
    uint64_t all = times(slice, extent(d->depth, kind == KIND_3D));
    return times(all, extent(d->array_size, array));
}
