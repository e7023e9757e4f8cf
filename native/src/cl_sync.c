/*
 * Calls at which a program sees that work is done: measured behind each, so
 * that a short process can not leave with its time undebited.
 */
#include "layer.h"
#include "cl_launch.h"
#include "workers.h"

static cl_int measured(cl_int err)
{
    if (vx_layer_mode() == VX_LIMIT)
        vx_cl_launch_settle();
    return err;
}

static void *measured_pointer(void *p)
{
    measured(CL_SUCCESS);
    return p;
}

cl_int clReleaseCommandQueue(cl_command_queue q)
{
    /* Implies a flush; what it still runs is measured later or at the exit. */
    return measured(vx_real()->clReleaseCommandQueue(q));
}

void *clEnqueueMapBuffer(cl_command_queue q, cl_mem mem, cl_bool blocking,
                         cl_bitfield flags, size_t offset, size_t size,
                         cl_uint waits, const cl_event *list, cl_event *event,
                         cl_int *err)
{
    return measured_pointer(vx_real()->clEnqueueMapBuffer(
        q, mem, blocking, flags, offset, size, waits, list, event, err));
}

void *clEnqueueMapImage(cl_command_queue q, cl_mem image, cl_bool blocking,
                        cl_bitfield flags, const size_t *origin,
                        const size_t *region, size_t *row, size_t *slice,
                        cl_uint waits, const cl_event *list, cl_event *event,
                        cl_int *err)
{
    return measured_pointer(vx_real()->clEnqueueMapImage(
        q, image, blocking, flags, origin, region, row, slice, waits, list,
        event, err));
}

/* Queue creation is where a runtime may start its threads. */
#define STARTING(call)                     \
    do {                                   \
        vx_workers_scan_begin();           \
        cl_command_queue started = call;   \
        vx_workers_scan_end();             \
        return started;                    \
    } while (0)

cl_command_queue clCreateCommandQueue(cl_context ctx, cl_device_id device,
                                      cl_bitfield props, cl_int *err)
{
    STARTING(vx_real()->clCreateCommandQueue(ctx, device, props, err));
}

cl_command_queue clCreateCommandQueueWithProperties(cl_context ctx,
                                                    cl_device_id device,
                                                    const cl_ulong *props,
                                                    cl_int *err)
{
    STARTING(vx_real()->clCreateCommandQueueWithProperties(ctx, device, props,
                                                           err));
}

cl_command_queue clCreateCommandQueueWithPropertiesKHR(cl_context ctx,
                                                       cl_device_id device,
                                                       const cl_ulong *props,
                                                       cl_int *err)
{
    STARTING(vx_real()->clCreateCommandQueueWithPropertiesKHR(ctx, device,
                                                              props, err));
}

cl_int clReleaseContext(cl_context ctx)
{
    return measured(vx_real()->clReleaseContext(ctx));
}

cl_int clWaitForEvents(cl_uint n, const cl_event *list)
{
    return measured(vx_real()->clWaitForEvents(n, list));
}

cl_int clGetEventInfo(cl_event event, cl_uint name, size_t size, void *value,
                      size_t *size_ret)
{
    return measured(vx_real()->clGetEventInfo(event, name, size, value,
                                             size_ret));
}

cl_int clFlush(cl_command_queue q)
{
    return measured(vx_real()->clFlush(q));
}

cl_int clFinish(cl_command_queue q)
{
    return measured(vx_real()->clFinish(q));
}

cl_int clEnqueueReadBuffer(cl_command_queue q, cl_mem mem, cl_bool blocking,
                           size_t offset, size_t size, void *to, cl_uint waits,
                           const cl_event *list, cl_event *event)
{
    return measured(vx_real()->clEnqueueReadBuffer(q, mem, blocking, offset, size,
                                                  to, waits, list, event));
}

cl_int clEnqueueWriteBuffer(cl_command_queue q, cl_mem mem, cl_bool blocking,
                            size_t offset, size_t size, const void *from,
                            cl_uint waits, const cl_event *list,
                            cl_event *event)
{
    return measured(vx_real()->clEnqueueWriteBuffer(q, mem, blocking, offset,
                                                   size, from, waits, list,
                                                   event));
}

cl_int clEnqueueReadImage(cl_command_queue q, cl_mem image, cl_bool blocking,
                          const size_t *origin, const size_t *region,
                          size_t row, size_t slice, void *to,
                          cl_uint waits, const cl_event *list,
                          cl_event *event)
{
    return measured(vx_real()->clEnqueueReadImage(q, image, blocking, origin,
                                                 region, row, slice, to, waits,
                                                 list, event));
}

cl_int clEnqueueReadBufferRect(cl_command_queue q, cl_mem mem, cl_bool blocking,
                               const size_t *origin, const size_t *host_origin,
                               const size_t *region, size_t row, size_t slice,
                               size_t host_row, size_t host_slice,
                               void *to, cl_uint waits,
                               const cl_event *list, cl_event *event)
{
    return measured(vx_real()->clEnqueueReadBufferRect(
        q, mem, blocking, origin, host_origin, region, row, slice, host_row,
        host_slice, to, waits, list, event));
}

cl_int clEnqueueWriteImage(cl_command_queue q, cl_mem image, cl_bool blocking,
                          const size_t *origin, const size_t *region,
                          size_t row, size_t slice, const void *from,
                          cl_uint waits, const cl_event *list,
                          cl_event *event)
{
    return measured(vx_real()->clEnqueueWriteImage(q, image, blocking, origin,
                                                 region, row, slice, from, waits,
                                                 list, event));
}

cl_int clEnqueueWriteBufferRect(cl_command_queue q, cl_mem mem, cl_bool blocking,
                               const size_t *origin, const size_t *host_origin,
                               const size_t *region, size_t row, size_t slice,
                               size_t host_row, size_t host_slice,
                               const void *from, cl_uint waits,
                               const cl_event *list, cl_event *event)
{
    return measured(vx_real()->clEnqueueWriteBufferRect(
        q, mem, blocking, origin, host_origin, region, row, slice, host_row,
        host_slice, from, waits, list, event));
}

cl_int clEnqueueUnmapMemObject(cl_command_queue q, cl_mem mem, void *mapped,
                               cl_uint waits, const cl_event *list,
                               cl_event *event)
{
    return measured(vx_real()->clEnqueueUnmapMemObject(q, mem, mapped, waits,
                                                      list, event));
}

cl_int clEnqueueMarker(cl_command_queue q, cl_event *event)
{
    return measured(vx_real()->clEnqueueMarker(q, event));
}

cl_int clEnqueueWaitForEvents(cl_command_queue q, cl_uint n,
                              const cl_event *list)
{
    return measured(vx_real()->clEnqueueWaitForEvents(q, n, list));
}

cl_int clEnqueueBarrier(cl_command_queue q)
{
    return measured(vx_real()->clEnqueueBarrier(q));
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue q, cl_uint n,
                                   const cl_event *list, cl_event *event)
{
    return measured(vx_real()->clEnqueueMarkerWithWaitList(q, n, list,
                                                           event));
}

cl_int clEnqueueBarrierWithWaitList(cl_command_queue q, cl_uint n,
                                   const cl_event *list, cl_event *event)
{
    return measured(vx_real()->clEnqueueBarrierWithWaitList(q, n, list,
                                                           event));
}

cl_int clEnqueueSVMMap(cl_command_queue q, cl_bool blocking, cl_bitfield flags,
                       void *p, size_t size, cl_uint waits,
                       const cl_event *list, cl_event *event)
{
    return measured(vx_real()->clEnqueueSVMMap(q, blocking, flags, p, size,
                                              waits, list, event));
}

cl_int clEnqueueSVMUnmap(cl_command_queue q, void *p, cl_uint waits,
                         const cl_event *list, cl_event *event)
{
    return measured(vx_real()->clEnqueueSVMUnmap(q, p, waits, list, event));
}
