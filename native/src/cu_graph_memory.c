/*
 * Memory nodes of graphs: charged when the graph is instantiated, all nodes
 * at once, and refunded when the executable graph is destroyed. What a graph
 * allocated and did not free outlives it: its charge moves to the pointer.
 */
#include <stdlib.h>

#include "cu_gate.h"
#include "cu_memory.h"
#include "log.h"
#include "session.h"

/* Free nodes of memory that another graph, or the program, allocated. */
struct frees {
    size_t count;
    CUdeviceptr at[];
};

enum { NOTE_FREED_INSIDE = 3 }; /* a node's charge: freed by its own graph */

static _Atomic bool expected;

void vx_cu_graph_memory_expect(void)
{
    atomic_store_explicit(&expected, true, memory_order_relaxed);
}

static bool add_free(struct vx_charge *c, CUdeviceptr at)
{
    struct frees *f = c->extra;
    size_t count = f ? f->count : 0;
    f = realloc(f, sizeof *f + (count + 1) * sizeof f->at[0]);
    if (!f)
        return false;
    f->count = count + 1;
    f->at[count] = at;
    c->extra = f;
    return true;
}

static CUresult add_alloc(struct vx_charge *c, CUgraphNode node)
{
    CUDA_MEM_ALLOC_NODE_PARAMS p = {0};
    struct vx_charge *own;
    CUresult err = vx_cu()->cuGraphMemAllocNodeGetParams(node, &p);
    if (err != CUDA_SUCCESS)
        return CUDA_SUCCESS; /* instantiation will tell */
    err = vx_cu_reserve(vx_cu_location_device(&p.poolProps.location),
                        VX_MEMORY_DEVICE, vx_mem_round(p.bytesize), &own);
    if (own) {
        own->key = p.dptr;
        own->note = 0;
        own->next = c->holds;
        c->holds = own;
    }
    return err;
}

static CUresult add_graph(struct vx_charge *c, CUgraph graph);

static CUresult add_node(struct vx_charge *c, CUgraphNode node)
{
    CUgraphNodeType type;
    CUdeviceptr at;
    CUgraph child;
    if (vx_cu()->cuGraphNodeGetType(node, &type) != CUDA_SUCCESS)
        return CUDA_SUCCESS;
    if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        return add_alloc(c, node);
    if (type == CU_GRAPH_NODE_TYPE_MEM_FREE &&
        vx_cu()->cuGraphMemFreeNodeGetParams(node, &at) == CUDA_SUCCESS)
        return add_free(c, at) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (type == CU_GRAPH_NODE_TYPE_GRAPH &&
        vx_cu()->cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS)
        return add_graph(c, child);
    return CUDA_SUCCESS;
}

static CUresult add_graph(struct vx_charge *c, CUgraph graph)
{
    size_t count = 0;
    if (vx_cu()->cuGraphGetNodes(graph, NULL, &count) != CUDA_SUCCESS || !count)
        return CUDA_SUCCESS;
    CUgraphNode *node = calloc(count, sizeof *node);
    if (!node)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult err = CUDA_SUCCESS;
    if (vx_cu()->cuGraphGetNodes(graph, node, &count) == CUDA_SUCCESS)
        for (size_t i = 0; i < count && err == CUDA_SUCCESS; i++)
            err = add_node(c, node[i]);
    free(node);
    return err;
}

/* Frees of the graph's own memory are marked there; foreign ones stay. */
static void match_frees(struct vx_charge *c)
{
    struct frees *f = c->extra;
    size_t kept = 0;
    for (size_t i = 0; f && i < f->count; i++) {
        struct vx_charge *own = c->holds;
        while (own && own->key != f->at[i])
            own = own->next;
        if (own)
            own->note = NOTE_FREED_INSIDE;
        else
            f->at[kept++] = f->at[i];
    }
    if (f)
        f->count = kept;
}

/* Reserves what a graph's memory nodes need; *c stays NULL without any. */
static CUresult prepare(CUgraph graph, struct vx_charge **out)
{
    *out = NULL;
    enum vx_mode mode = vx_cu_mode();
    if (mode == VX_REFUSE)
        return CUDA_ERROR_NO_DEVICE;
    if (mode == VX_PASS || !atomic_load(&expected))
        return CUDA_SUCCESS;
    struct vx_charge *c = vx_charge_known();
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult err = add_graph(c, graph);
    VX_CRASH("graph.reserved");
    match_frees(c);
    if (err != CUDA_SUCCESS || (!c->holds && !c->extra)) {
        vx_charge_drop(c);
        return err;
    }
    c->owner = vx_cu_owner(vx_cu_current_device());
    *out = c;
    return CUDA_SUCCESS;
}

static CUresult settle(struct vx_charge *c, CUresult err,
                       const CUgraphExec *out)
{
    return vx_cu_settle(c, err, VX_SPACE_GRAPH, err ? 0 : (uintptr_t)*out);
}

CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph graph, CUgraphNode *bad,
                            char *log, size_t bytes)
{
    struct vx_charge *c;
    CUresult err = prepare(graph, &c);
    if (err != CUDA_SUCCESS)
        return err;
    err = vx_cu()->cuGraphInstantiate(out, graph, bad, log, bytes);
    return settle(c, err, out);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph,
                               CUgraphNode *bad, char *log, size_t bytes)
{
    struct vx_charge *c;
    CUresult err = prepare(graph, &c);
    if (err != CUDA_SUCCESS)
        return err;
    err = vx_cu()->cuGraphInstantiate_v2(out, graph, bad, log, bytes);
    return settle(c, err, out);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph,
                                     unsigned long long flags)
{
    struct vx_charge *c;
    CUresult err = prepare(graph, &c);
    if (err != CUDA_SUCCESS)
        return err;
    return settle(c, vx_cu()->cuGraphInstantiateWithFlags(out, graph, flags),
                  out);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    struct vx_charge *c;
    CUresult err = prepare(graph, &c);
    if (err != CUDA_SUCCESS)
        return err;
    return settle(c, vx_cu()->cuGraphInstantiateWithParams(out, graph, params),
                  out);
}

CUresult cuGraphInstantiateWithParams_ptsz(
    CUgraphExec *out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    struct vx_charge *c;
    CUresult err = prepare(graph, &c);
    if (err != CUDA_SUCCESS)
        return err;
    err = vx_cu()->cuGraphInstantiateWithParams_ptsz(out, graph, params);
    return settle(c, err, out);
}

/* From now on the address is live: a free of it is no unknown one. */
static void mark_live(const struct vx_charge *own)
{
    struct vx_charge seen, *mark;
    if (own->note == NOTE_FREED_INSIDE ||
        vx_charge_look(VX_SPACE_MEMORY, own->key, &seen) ||
        !(mark = vx_charge_known()))
        return;
    mark->note = VX_NOTE_GRAPH;
    vx_charge_bind(mark, VX_SPACE_MEMORY, own->key);
}

void vx_cu_graph_launched(CUgraphExec exec)
{
    if (!atomic_load_explicit(&expected, memory_order_relaxed))
        return;
    struct vx_charge *c = vx_cu_take(VX_SPACE_GRAPH, (uintptr_t)exec);
    if (!c)
        return;
    for (struct vx_charge *own = c->holds; own; own = own->next)
        mark_live(own);
    struct frees *f = c->extra;
    for (size_t i = 0; f && i < f->count; i++) {
        struct vx_charge *freed = vx_charge_take(VX_SPACE_MEMORY, f->at[i]);
        if (freed)
            vx_cu_pool_free(freed);
    }
    vx_charge_bind(c, VX_SPACE_GRAPH, (uintptr_t)exec);
}

/* The graph is gone: what is live stays charged, by its address. */
static void leave_live(struct vx_charge *c)
{
    for (struct vx_charge *own = c->holds, *next; own; own = next) {
        next = own->next;
        struct vx_charge *mark = vx_charge_take(VX_SPACE_MEMORY, own->key);
        if (mark && mark->note == VX_NOTE_GRAPH &&
            own->note != NOTE_FREED_INSIDE) {
            own->note = 0;
            vx_charge_bind(own, VX_SPACE_MEMORY, own->key);
            vx_charge_drop(mark);
            continue;
        }
        if (mark)
            vx_charge_bind(mark, VX_SPACE_MEMORY, mark->key);
        vx_charge_drop(own);
    }
    c->holds = NULL;
}

/* The driver keeps a graph's memory for others: not beyond what is charged. */
static void trim_all(void)
{
    for (unsigned i = 0; i < vx_session_device_count(); i++) {
        CUdevice dev = vx_cu_device_of((int)i);
        if (dev >= 0)
            vx_cu()->cuDeviceGraphMemTrim(dev);
    }
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    struct vx_charge *c = vx_cu_take(VX_SPACE_GRAPH, (uintptr_t)exec);
    CUresult err = vx_cu()->cuGraphExecDestroy(exec);
    vx_graph_cost_changed(exec); /* the handle may be another's soon */
    VX_CRASH("graph.destroyed");
    if (c && err != CUDA_SUCCESS)
        vx_charge_bind(c, VX_SPACE_GRAPH, (uintptr_t)exec);
    if (!c || err != CUDA_SUCCESS)
        return err;
    leave_live(c);
    trim_all();
    vx_charge_drop(c);
    return err;
}

CUresult cuDeviceGraphMemTrim(CUdevice dev)
{
    return vx_cu()->cuDeviceGraphMemTrim(dev);
}
