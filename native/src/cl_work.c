/* Device work: every call here passes the gate and is metered. */
#include "estimate.h"
#include "layer.h"
#include "cl_launch.h"
#include "workers.h"

/* Kinds of work that have no kernel of their own. */
enum { KEY_NATIVE = 1, KEY_COPY, KEY_COPY_IMAGE, KEY_FILL, KEY_RECORDED };

static uint64_t key_of_kernel(cl_kernel kernel)
{
    return vx_estimate_mix((uint64_t)(uintptr_t)kernel, 0);
}

static uint64_t key_of_region(uint64_t kind, const size_t *region)
{
    for (int i = 0; region && i < 3; i++)
        kind = vx_estimate_mix(kind, region[i]);
    return kind;
}

static uint64_t key_of_range(cl_kernel kernel, cl_uint dims,
                             const size_t *global)
{
    uint64_t key = key_of_kernel(kernel);
    for (cl_uint i = 0; global && i < dims && i < 3; i++)
        key = vx_estimate_mix(key, global[i]);
    return key;
}

/* A runtime that starts its threads late does so in its first launches. */
static bool first_launches(void)
{
    static _Atomic unsigned left = 8;
    unsigned seen = left;
    while (seen > 0)
        if (__atomic_compare_exchange_n((unsigned *)&left, &seen, seen - 1, 0,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return true;
    return false;
}

/* The gate refuses with this once the lease is gone. */
static bool enter(uint64_t key, cl_command_queue q, cl_uint waits,
                  const cl_event *list, struct vx_cl_ticket *t, bool *limited,
                  cl_int *err)
{
    enum vx_mode mode = vx_layer_mode();
    *err = CL_OUT_OF_RESOURCES;
    *limited = mode == VX_LIMIT;
    return mode == VX_PASS ||
           (*limited && vx_cl_launch_begin(key, q, waits, list, t));
}

static cl_int leave(struct vx_cl_ticket *t, cl_command_queue q, cl_event got,
                    bool owned, cl_int err)
{
    bool failed = err != CL_SUCCESS;
    vx_cl_launch_end(t, q, failed ? NULL : got, owned, failed);
    return err;
}

/* The one shape of all work: CALL uses `out` as its event argument. */
#define GATED(key, call)                                              \
    struct vx_cl_ticket ticket;                                          \
    cl_event own = NULL, *out = event;                                \
    bool limited;                                                     \
    cl_int err;                                                       \
    if (!enter(key, q, waits, list, &ticket, &limited, &err))         \
        return err;                                                   \
    if (limited && !event && ticket.wants_event)                      \
        out = &own;                                                   \
    err = call;                                                       \
    return limited ? leave(&ticket, q, out ? *out : NULL, !event, err) : err

static cl_int enqueue_range(cl_command_queue q, cl_kernel kernel, cl_uint dims,
                            const size_t *offset, const size_t *global,
                            const size_t *local, cl_uint waits,
                            const cl_event *list, cl_event *event)
{
    bool watch = first_launches();
    if (watch)
        vx_workers_scan_begin();
    cl_int err = vx_real()->clEnqueueNDRangeKernel(q, kernel, dims, offset,
                                                   global, local, waits, list,
                                                   event);
    if (watch)
        vx_workers_scan_end();
    return err;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel kernel,
                              cl_uint dims, const size_t *offset,
                              const size_t *global, const size_t *local,
                              cl_uint waits, const cl_event *list,
                              cl_event *event)
{
    GATED(key_of_range(kernel, dims, global),
          enqueue_range(q, kernel, dims, offset, global, local, waits, list,
                        out));
}

cl_int clEnqueueTask(cl_command_queue q, cl_kernel kernel, cl_uint waits,
                     const cl_event *list, cl_event *event)
{
    GATED(key_of_kernel(kernel),
          vx_real()->clEnqueueTask(q, kernel, waits, list, out));
}

cl_int clEnqueueNativeKernel(cl_command_queue q, cl_native function, void *args,
                             size_t size, cl_uint n, const cl_mem *mems,
                             const void **places, cl_uint waits,
                             const cl_event *list, cl_event *event)
{
    GATED(vx_estimate_mix(KEY_NATIVE, (uint64_t)(uintptr_t)function),
          vx_real()->clEnqueueNativeKernel(q, function, args, size, n, mems,
                                           places, waits, list, out));
}

cl_int clEnqueueCopyBuffer(cl_command_queue q, cl_mem src, cl_mem dst,
                           size_t from, size_t to, size_t size, cl_uint waits,
                           const cl_event *list, cl_event *event)
{
    GATED(vx_estimate_mix(KEY_COPY, size),
          vx_real()->clEnqueueCopyBuffer(q, src, dst, from, to, size, waits,
                                         list, out));
}

cl_int clEnqueueCopyImage(cl_command_queue q, cl_mem src, cl_mem dst,
                          const size_t *from, const size_t *to,
                          const size_t *region, cl_uint waits,
                          const cl_event *list, cl_event *event)
{
    GATED(key_of_region(KEY_COPY_IMAGE, region),
          vx_real()->clEnqueueCopyImage(q, src, dst, from, to, region, waits,
                                        list, out));
}

cl_int clEnqueueCopyImageToBuffer(cl_command_queue q, cl_mem src, cl_mem dst,
                                  const size_t *from, const size_t *region,
                                  size_t to, cl_uint waits,
                                  const cl_event *list, cl_event *event)
{
    GATED(key_of_region(KEY_COPY_IMAGE, region),
          vx_real()->clEnqueueCopyImageToBuffer(q, src, dst, from, region, to,
                                                waits, list, out));
}

cl_int clEnqueueCopyBufferToImage(cl_command_queue q, cl_mem src, cl_mem dst,
                                  size_t from, const size_t *to,
                                  const size_t *region, cl_uint waits,
                                  const cl_event *list, cl_event *event)
{
    GATED(key_of_region(KEY_COPY_IMAGE, region),
          vx_real()->clEnqueueCopyBufferToImage(q, src, dst, from, to, region,
                                                waits, list, out));
}

cl_int clEnqueueCopyBufferRect(cl_command_queue q, cl_mem src, cl_mem dst,
                               const size_t *from, const size_t *to,
                               const size_t *region, size_t src_row,
                               size_t src_slice, size_t dst_row,
                               size_t dst_slice, cl_uint waits,
                               const cl_event *list, cl_event *event)
{
    GATED(key_of_region(KEY_COPY, region),
          vx_real()->clEnqueueCopyBufferRect(q, src, dst, from, to, region,
                                             src_row, src_slice, dst_row,
                                             dst_slice, waits, list, out));
}

cl_int clEnqueueFillBuffer(cl_command_queue q, cl_mem mem, const void *pattern,
                           size_t pattern_size, size_t offset, size_t size,
                           cl_uint waits, const cl_event *list,
                           cl_event *event)
{
    GATED(vx_estimate_mix(KEY_FILL, size),
          vx_real()->clEnqueueFillBuffer(q, mem, pattern, pattern_size,
                                         offset, size, waits, list, out));
}

cl_int clEnqueueFillImage(cl_command_queue q, cl_mem image, const void *color,
                          const size_t *origin, const size_t *region,
                          cl_uint waits, const cl_event *list,
                          cl_event *event)
{
    GATED(key_of_region(KEY_FILL, region),
          vx_real()->clEnqueueFillImage(q, image, color, origin, region,
                                        waits, list, out));
}

static cl_int enqueue_svm_copy(cl_command_queue q, cl_bool blocking, void *to,
                               const void *from, size_t size, cl_uint waits,
                               const cl_event *list, cl_event *event)
{
    GATED(vx_estimate_mix(KEY_COPY, size),
          vx_real()->clEnqueueSVMMemcpy(q, blocking, to, from, size, waits,
                                        list, out));
}

cl_int clEnqueueSVMMemcpy(cl_command_queue q, cl_bool blocking, void *to,
                          const void *from, size_t size, cl_uint waits,
                          const cl_event *list, cl_event *event)
{
    cl_int err = enqueue_svm_copy(q, blocking, to, from, size, waits, list,
                                  event);
    /* A synchronising call as well. */
    if (blocking && vx_layer_mode() == VX_LIMIT)
        vx_cl_launch_settle();
    return err;
}

cl_int clEnqueueSVMMemFill(cl_command_queue q, void *to, const void *pattern,
                           size_t pattern_size, size_t size, cl_uint waits,
                           const cl_event *list, cl_event *event)
{
    GATED(vx_estimate_mix(KEY_FILL, size),
          vx_real()->clEnqueueSVMMemFill(q, to, pattern, pattern_size, size,
                                         waits, list, out));
}

cl_int clEnqueueCommandBufferKHR(cl_uint n, cl_command_queue *queues,
                                 void *buffer, cl_uint waits,
                                 const cl_event *list, cl_event *event)
{
    /* Its queue may be the one it was recorded for: then none is named. */
    cl_command_queue q = n && queues ? queues[0] : NULL;
    GATED(vx_estimate_mix(KEY_RECORDED, (uint64_t)(uintptr_t)buffer),
          vx_real()->clEnqueueCommandBufferKHR(n, queues, buffer, waits, list,
                                               out));
}
