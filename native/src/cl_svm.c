/* Shared virtual memory: charged by pointer. */
#include <stdlib.h>

#include "charges.h"
#include "layer.h"
#include "cl_launch.h"
#include "log.h"
#include "memory.h"
#include "session.h"

void *clSVMAlloc(cl_context ctx, cl_bitfield flags, size_t size, cl_uint align)
{
    enum vx_mode mode = vx_layer_mode();
    if (mode == VX_PASS || size == 0)
        return vx_real()->clSVMAlloc(ctx, flags, size, align);
    if (mode == VX_REFUSE || size > vx_layer_max_alloc())
        return NULL;
    struct vx_charge *c = vx_charge_make(0, VX_MEMORY_DEVICE,
                                         vx_mem_round(size));
    void *p = c ? vx_real()->clSVMAlloc(ctx, flags, size, align) : NULL;
    VX_CRASH("svm.created");
    if (p)
        vx_charge_bind(c, VX_SPACE_SVM, (uintptr_t)p);
    else
        vx_charge_drop(c);
    return p;
}

void clSVMFree(cl_context ctx, void *p)
{
    if (vx_layer_mode() != VX_LIMIT) {
        vx_real()->clSVMFree(ctx, p);
        return;
    }
    /* Our entry first: the address may be another thread's once it is free. */
    struct vx_charge *c = vx_charge_take(VX_SPACE_SVM, (uintptr_t)p);
    vx_real()->clSVMFree(ctx, p);
    VX_CRASH("svm.freed");
    if (p && !c)
        vx_session_count_unknown_free();
    vx_charge_drop(c);
}

/* Charges of one clEnqueueSVMFree, by the order of its pointers. */
struct free_list {
    cl_uint count;
    struct vx_charge *charge[];
};

static struct free_list *take_list(cl_uint n, void **pointers)
{
    struct free_list *l = malloc(sizeof *l + n * sizeof l->charge[0]);
    for (cl_uint i = 0; l && i < n; i++)
        l->charge[i] = vx_charge_take(VX_SPACE_SVM, (uintptr_t)pointers[i]);
    if (l)
        l->count = n;
    return l;
}

static void put_back(struct free_list *l)
{
    for (cl_uint i = 0; l && i < l->count; i++)
        if (l->charge[i])
            vx_charge_bind(l->charge[i], VX_SPACE_SVM, l->charge[i]->key);
    free(l);
}

static void on_freed(cl_event event, cl_int status, void *data)
{
    struct free_list *l = data;
    (void)event;
    (void)status;
    for (cl_uint i = 0; i < l->count; i++)
        vx_charge_drop(l->charge[i]);
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
