/* Shared virtual memory: charged by pointer. */
#include <stdlib.h>

#include "layer.h"
#include "cl_launch.h"
#include "log.h"
#include "memory.h"
#include "session.h"
#include "svm.h"

void *clSVMAlloc(cl_context ctx, cl_bitfield flags, size_t size, cl_uint align)
{
    enum vx_mode mode = vx_layer_mode();
    if (mode == VX_PASS || size == 0)
        return vx_real()->clSVMAlloc(ctx, flags, size, align);
    uint64_t bytes = vx_mem_round(size);
    if (mode == VX_REFUSE || size > vx_layer_max_alloc() ||
        !vx_session_reserve(0, VX_MEMORY_DEVICE, bytes))
        return NULL;
    void *p = vx_real()->clSVMAlloc(ctx, flags, size, align);
    VX_CRASH("svm.created");
    if (p && vx_svm_put(p, bytes))
        return p;
    if (p)
        vx_real()->clSVMFree(ctx, p);
    vx_session_refund(0, VX_MEMORY_DEVICE, bytes);
    return NULL;
}

void clSVMFree(cl_context ctx, void *p)
{
    /* Our entry first: the address may be another thread's once it is free. */
    if (vx_layer_mode() == VX_LIMIT) {
        uint64_t bytes = vx_svm_take(p);
        vx_real()->clSVMFree(ctx, p);
        VX_CRASH("svm.freed");
        if (bytes)
            vx_session_refund(0, VX_MEMORY_DEVICE, bytes);
        else if (p)
            vx_session_count_unknown_free();
        return;
    }
    vx_real()->clSVMFree(ctx, p);
}

/* Charges taken out of the map when the free is enqueued. */
struct free_list {
    cl_uint count;
    struct {
        void *pointer;
        uint64_t bytes;
    } item[];
};

/*
 * Taken out now, refunded later: once the runtime has freed a pointer, the
 * same address may stand for a newer allocation.
 */
static struct free_list *take_list(cl_uint n, void **pointers)
{
    struct free_list *l = malloc(sizeof *l + n * sizeof l->item[0]);
    for (cl_uint i = 0; l && i < n; i++) {
        l->item[i].pointer = pointers[i];
        l->item[i].bytes = vx_svm_take(pointers[i]);
    }
    if (l)
        l->count = n;
    return l;
}

static void put_back(struct free_list *l)
{
    for (cl_uint i = 0; l && i < l->count; i++)
        if (l->item[i].bytes)
            vx_svm_put(l->item[i].pointer, l->item[i].bytes);
    free(l);
}

static void on_freed(cl_event event, cl_int status, void *data)
{
    struct free_list *l = data;
    (void)event;
    (void)status;
    for (cl_uint i = 0; i < l->count; i++)
        if (l->item[i].bytes)
            vx_session_refund(0, VX_MEMORY_DEVICE, l->item[i].bytes);
    free(l);
}

cl_int clEnqueueSVMFree(cl_command_queue q, cl_uint n, void **pointers,
                        cl_svm_notify notify, void *data, cl_uint waits,
                        const cl_event *list, cl_event *event)
{
    cl_event own = NULL, *out = event ? event : &own;
    struct free_list *l = NULL;
    /* With a callback of its own the program frees by clSVMFree, hooked. */
    if (vx_layer_mode() == VX_LIMIT && !notify && pointers)
        l = take_list(n, pointers);
    cl_int err = vx_real()->clEnqueueSVMFree(q, n, pointers, notify, data,
                                             waits, list, out);
    if (err != CL_SUCCESS) {
        put_back(l);
        return err;
    }
    if (l && vx_real()->clSetEventCallback(*out, CL_COMPLETE, on_freed, l) !=
                 CL_SUCCESS)
        on_freed(*out, CL_COMPLETE, l);
    if (own)
        vx_real()->clReleaseEvent(own);
    return CL_SUCCESS;
}
