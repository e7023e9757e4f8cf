/* Memory objects and SVM: reserve, then create; refund when it really dies. */
#include <stdlib.h>

#include "layer.h"
#include "log.h"
#include "memory.h"
#include "session.h"

/* What one memory object was charged; freed by its destructor callback. */
struct charge {
    uint64_t bytes;
    uint32_t life; /* a fork's child must not refund its parent's */
};

static cl_mem refuse(cl_int code, cl_int *err)
{
    if (err)
        *err = code;
    return NULL;
}

/* NULL when there is no room; *code says why. */
static struct charge *reserve(uint64_t requested, cl_int *code)
{
    struct charge *c = malloc(sizeof *c);
    uint64_t bytes = vx_mem_round(requested);
    *code = c ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_OUT_OF_HOST_MEMORY;
    if (c && vx_session_reserve(0, VX_MEMORY_DEVICE, bytes)) {
        *c = (struct charge){bytes, vx_session_life()};
        return c;
    }
    free(c);
    return NULL;
}

static void refund(struct charge *c)
{
    if (c->life == vx_session_life())
        vx_session_refund(0, VX_MEMORY_DEVICE, c->bytes);
    free(c);
}

static void on_death(cl_mem mem, void *data)
{
    (void)mem;
    VX_CRASH("free.dying");
    refund(data);
}

/* The runtime may take more than the description said (pitch, levels). */
static bool grow_to_real_size(cl_mem mem, struct charge *c)
{
    size_t real = 0;
    if (vx_real()->clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof real, &real,
                                      NULL) != CL_SUCCESS)
        return true;
    uint64_t bytes = vx_mem_round(real);
    if (bytes <= c->bytes)
        return true;
    if (!vx_session_reserve(0, VX_MEMORY_DEVICE, bytes - c->bytes))
        return false;
    c->bytes = bytes;
    return true;
}

/*
 * Hangs the charge on the object: its destructor callback comes when the
 * last reference is gone, sub-buffers and queued commands included, so no
 * counting of ours can race with retain and release.
 */
static cl_mem bind(struct charge *c, cl_mem mem, cl_int code, cl_int *err)
{
    VX_CRASH("alloc.created");
    if (!mem) {
        refund(c);
        return refuse(code, err);
    }
    bool fits = grow_to_real_size(mem, c);
    if (!fits || vx_real()->clSetMemObjectDestructorCallback(mem, on_death,
                                                             c) != CL_SUCCESS) {
        vx_real()->clReleaseMemObject(mem);
        refund(c);
        return refuse(CL_MEM_OBJECT_ALLOCATION_FAILURE, err);
    }
    VX_CRASH("alloc.bound");
    if (err)
        *err = code;
    return mem;
}

/* The one shape of all creating calls: CALL sees `code` for its errcode. */
#define CHARGED(requested, err, call)                          \
    do {                                                       \
        cl_int code;                                           \
        struct charge *c = reserve(requested, &code);          \
        if (!c)                                                \
            return refuse(code, err);                          \
        cl_mem mem = call;                                     \
        return bind(c, mem, code, err);                        \
    } while (0)

/* 0: charge it; else the code to refuse with, or 1 for "pass on". */
static cl_int buffer_verdict(size_t size)
{
    enum vx_mode mode = vx_layer_mode();
    if (mode == VX_REFUSE)
        return CL_OUT_OF_RESOURCES;
    if (mode == VX_PASS || size == 0)
        return 1;
    return size > vx_layer_max_alloc() ? CL_INVALID_BUFFER_SIZE : CL_SUCCESS;
}

cl_mem clCreateBuffer(cl_context ctx, cl_bitfield flags, size_t size,
                      void *host, cl_int *err)
{
    cl_int verdict = buffer_verdict(size);
    if (verdict > 0)
        return vx_real()->clCreateBuffer(ctx, flags, size, host, err);
    if (verdict < 0)
        return refuse(verdict, err);
    CHARGED(size, err,
            vx_real()->clCreateBuffer(ctx, flags, size, host, &code));
}

cl_mem clCreateBufferWithProperties(cl_context ctx, const cl_ulong *props,
                                    cl_bitfield flags, size_t size, void *host,
                                    cl_int *err)
{
    cl_int verdict = buffer_verdict(size);
    if (verdict > 0)
        return vx_real()->clCreateBufferWithProperties(ctx, props, flags, size,
                                                       host, err);
    if (verdict < 0)
        return refuse(verdict, err);
    CHARGED(size, err,
            vx_real()->clCreateBufferWithProperties(ctx, props, flags, size,
                                                    host, &code));
}

/* Views of another object own no memory; nonsense is the runtime's to tell. */
static bool image_is_free(const cl_image_format *format,
                          const cl_image_desc *desc)
{
    return vx_layer_mode() == VX_PASS || !format || !desc || desc->mem_object;
}

cl_mem clCreateImage(cl_context ctx, cl_bitfield flags,
                     const cl_image_format *format, const cl_image_desc *desc,
                     void *host, cl_int *err)
{
    if (image_is_free(format, desc))
        return vx_real()->clCreateImage(ctx, flags, format, desc, host, err);
    if (vx_layer_mode() == VX_REFUSE)
        return refuse(CL_OUT_OF_RESOURCES, err);
    CHARGED(vx_image_bytes(format, desc), err,
            vx_real()->clCreateImage(ctx, flags, format, desc, host, &code));
}

cl_mem clCreateImageWithProperties(cl_context ctx, const cl_ulong *props,
                                   cl_bitfield flags,
                                   const cl_image_format *format,
                                   const cl_image_desc *desc, void *host,
                                   cl_int *err)
{
    if (image_is_free(format, desc))
        return vx_real()->clCreateImageWithProperties(ctx, props, flags, format,
                                                      desc, host, err);
    if (vx_layer_mode() == VX_REFUSE)
        return refuse(CL_OUT_OF_RESOURCES, err);
    CHARGED(vx_image_bytes(format, desc), err,
            vx_real()->clCreateImageWithProperties(ctx, props, flags, format,
                                                   desc, host, &code));
}

cl_mem clCreateImage2D(cl_context ctx, cl_bitfield flags,
                       const cl_image_format *format, size_t width,
                       size_t height, size_t pitch, void *host, cl_int *err)
{
    cl_image_desc d = {.type = VX_IMAGE_2D, .width = width,
                       .height = height, .row_pitch = pitch};
    if (image_is_free(format, &d))
        return vx_real()->clCreateImage2D(ctx, flags, format, width, height,
                                          pitch, host, err);
    if (vx_layer_mode() == VX_REFUSE)
        return refuse(CL_OUT_OF_RESOURCES, err);
    CHARGED(vx_image_bytes(format, &d), err,
            vx_real()->clCreateImage2D(ctx, flags, format, width, height, pitch,
                                       host, &code));
}

cl_mem clCreateImage3D(cl_context ctx, cl_bitfield flags,
                       const cl_image_format *format, size_t width,
                       size_t height, size_t depth, size_t row, size_t slice,
                       void *host, cl_int *err)
{
    cl_image_desc d = {.type = VX_IMAGE_3D, .width = width,
                       .height = height, .depth = depth, .row_pitch = row,
                       .slice_pitch = slice};
    if (image_is_free(format, &d))
        return vx_real()->clCreateImage3D(ctx, flags, format, width, height,
                                          depth, row, slice, host, err);
    if (vx_layer_mode() == VX_REFUSE)
        return refuse(CL_OUT_OF_RESOURCES, err);
    CHARGED(vx_image_bytes(format, &d), err,
            vx_real()->clCreateImage3D(ctx, flags, format, width, height, depth,
                                       row, slice, host, &code));
}

cl_mem clCreatePipe(cl_context ctx, cl_bitfield flags, cl_uint packet,
                    cl_uint packets, const cl_props *props, cl_int *err)
{
    enum vx_mode mode = vx_layer_mode();
    if (mode == VX_PASS)
        return vx_real()->clCreatePipe(ctx, flags, packet, packets, props, err);
    if (mode == VX_REFUSE)
        return refuse(CL_OUT_OF_RESOURCES, err);
    CHARGED((uint64_t)packet * packets, err,
            vx_real()->clCreatePipe(ctx, flags, packet, packets, props, &code));
}
