/* User objects: a program's own data that lives as long as graphs need it. */
#include <stdlib.h>

#include "graph.h"

#define OBJECT_MAGIC 0x756f626aU

struct CUuserObject_st {
    uint32_t magic;
    unsigned uses;
    void *data;
    CUhostFn destroy;
};

/* One graph's hold on an object. */
struct vf_hold {
    struct vf_hold *next;
    CUgraph graph;
    CUuserObject object;
    unsigned count;
};

static struct vf_hold *holds; /* the graphs' lock guards all of this */

static CUresult find(CUuserObject object)
{
    return object && object->magic == OBJECT_MAGIC ? CUDA_SUCCESS
                                                   : CUDA_ERROR_INVALID_VALUE;
}

/* Lock held; the destructor may not call the driver, so it may run here. */
static CUresult release(CUuserObject object, unsigned count)
{
    if (count == 0 || count > object->uses)
        return CUDA_ERROR_INVALID_VALUE;
    object->uses -= count;
    if (object->uses > 0)
        return CUDA_SUCCESS;
    object->magic = 0;
    object->destroy(object->data);
    free(object);
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuUserObjectCreate(CUuserObject *out, void *data,
                                      CUhostFn destroy, unsigned count,
                                      unsigned flags)
{
    CUresult r = vf_enter_driver("cuUserObjectCreate");
    if (r || !out || !destroy || count == 0 ||
        flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    CUuserObject object = malloc(sizeof *object);
    if (!object)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *object = (struct CUuserObject_st){OBJECT_MAGIC, count, data, destroy};
    *out = object;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuUserObjectRetain(CUuserObject object, unsigned count)
{
    CUresult r = find(object);
    if (r || count == 0)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    object->uses += count;
    vf_graph_unlock();
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuUserObjectRelease(CUuserObject object, unsigned count)
{
    CUresult r = find(object);
    if (r)
        return r;
    vf_graph_lock();
    r = release(object, count);
    vf_graph_unlock();
    return r;
}

static CUresult hold(CUgraph graph, CUuserObject object, unsigned count)
{
    struct vf_hold *h = malloc(sizeof *h);
    if (!h)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *h = (struct vf_hold){holds, graph, object, count};
    holds = h;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object,
                                           unsigned count, unsigned flags)
{
    CUresult r = vf_graph_find(graph);
    if (!r)
        r = find(object);
    if (r || count == 0 || flags > CU_GRAPH_USER_OBJECT_MOVE)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    r = hold(graph, object, count);
    if (!r && flags != CU_GRAPH_USER_OBJECT_MOVE)
        object->uses += count;
    vf_graph_unlock();
    return r;
}

VF_EXPORT CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object,
                                            unsigned count)
{
    CUresult r = vf_graph_find(graph);
    if (!r)
        r = find(object);
    if (r)
        return r;
    vf_graph_lock();
    struct vf_hold *h = holds;
    while (h && (h->graph != graph || h->object != object || h->count < count))
        h = h->next;
    r = h && count ? release(object, count) : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        h->count -= count;
    vf_graph_unlock();
    return r;
}

void vf_graph_share_objects(CUgraph from, CUgraph to)
{
    for (struct vf_hold *h = holds; h; h = h->next)
        if (h->graph == from && h->count && !hold(to, h->object, 1))
            h->object->uses++;
}

void vf_graph_drop_objects(CUgraph graph)
{
    struct vf_hold **at = &holds;
    while (*at) {
        struct vf_hold *h = *at;
        if (h->graph != graph) {
            at = &h->next;
            continue;
        }
        *at = h->next;
        if (h->count)
            release(h->object, h->count);
        free(h);
    }
}
