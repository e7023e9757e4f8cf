/* The entries that make graphs and put nodes into them. */
#include <string.h>

#include "graph.h"

static CUresult enter(const char *call, CUgraph graph)
{
    CUresult r = vf_enter_driver(call);
    return r ? r : vf_graph_find(graph);
}

VF_EXPORT CUresult cuGraphCreate(CUgraph *out, unsigned flags)
{
    CUresult r = vf_enter_driver("cuGraphCreate");
    if (r || !out || flags)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    *out = vf_graph_new();
    vf_graph_unlock();
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

VF_EXPORT CUresult cuGraphDestroy(CUgraph graph)
{
    CUresult r = enter("cuGraphDestroy", graph);
    if (r || graph->is_part)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    if (graph->exec)
        graph->exec->source = NULL;
    vf_graph_free(graph);
    vf_graph_unlock();
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuGraphClone(CUgraph *out, CUgraph graph)
{
    CUresult r = enter("cuGraphClone", graph);
    if (r || !out)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    r = graph->has_memory ? CUDA_ERROR_NOT_SUPPORTED
                          : vf_graph_copy(graph, out);
    vf_graph_unlock();
    return r;
}

VF_EXPORT CUresult cuGraphDestroyNode(CUgraphNode node)
{
    CUresult r = vf_enter_driver("cuGraphDestroyNode");
    if (!r)
        r = vf_node_find(node);
    if (r)
        return r;
    vf_graph_lock();
    r = vf_node_destroy(node);
    vf_graph_unlock();
    return r;
}

/* ---- nodes ----------------------------------------------------------------- */

static CUresult add(const char *call, CUgraphNode *out, CUgraph graph,
                    const CUgraphNode *from, size_t count,
                    CUgraphNodeParams *params)
{
    CUresult r = enter(call, graph);
    if (r || !out || !params)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    bool memory_child = params->type == CU_GRAPH_NODE_TYPE_GRAPH &&
                        !vf_graph_find(params->graph.graph) &&
                        params->graph.graph->has_memory;
    r = memory_child ? CUDA_ERROR_NOT_SUPPORTED
                     : vf_graph_add(graph, from, count, params, out);
    vf_graph_unlock();
    return r;
}

VF_EXPORT CUresult cuGraphAddNode(CUgraphNode *out, CUgraph graph,
                                  const CUgraphNode *from, size_t count,
                                  CUgraphNodeParams *params)
{
    return add("cuGraphAddNode", out, graph, from, count, params);
}

#define ADD_WITH_EDGES(name)                                                 \
    VF_EXPORT CUresult name(CUgraphNode *out, CUgraph graph,                 \
                            const CUgraphNode *from,                         \
                            const CUgraphEdgeData *edges, size_t count,      \
                            CUgraphNodeParams *params)                       \
    {                                                                        \
        (void)edges;                                                         \
        return add(#name, out, graph, from, count, params);                  \
    }
ADD_WITH_EDGES(cuGraphAddNode_v2)
ADD_WITH_EDGES(cuGraphAddNode_v3)

#define WHERE CUgraphNode *out, CUgraph graph, const CUgraphNode *from,      \
              size_t count
#define ADD(name, kind, given, check, field)                                 \
    VF_EXPORT CUresult name(WHERE, given)                                    \
    {                                                                        \
        CUgraphNodeParams params = {.type = kind};                           \
        if (!(check))                                                        \
            return CUDA_ERROR_INVALID_VALUE;                                 \
        params.field;                                                        \
        return add(#name, out, graph, from, count, &params);                 \
    }

VF_EXPORT CUresult cuGraphAddKernelNode(WHERE,
                                        const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&params.kernel, p, sizeof *p); /* a prefix of today's */
    return add("cuGraphAddKernelNode", out, graph, from, count, &params);
}

ADD(cuGraphAddKernelNode_v2, CU_GRAPH_NODE_TYPE_KERNEL,
    const CUDA_KERNEL_NODE_PARAMS *p, p, kernel = *p)
ADD(cuGraphAddHostNode, CU_GRAPH_NODE_TYPE_HOST, const CUDA_HOST_NODE_PARAMS *p,
    p, host = ((CUDA_HOST_NODE_PARAMS_v2){.fn = p->fn,
                                          .userData = p->userData}))
ADD(cuGraphAddChildGraphNode, CU_GRAPH_NODE_TYPE_GRAPH, CUgraph child, child,
    graph.graph = child)
ADD(cuGraphAddEventRecordNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, CUevent event,
    event, eventRecord.event = event)
ADD(cuGraphAddEventWaitNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, CUevent event,
    event, eventWait.event = event)
ADD(cuGraphAddMemFreeNode, CU_GRAPH_NODE_TYPE_MEM_FREE, CUdeviceptr at, at,
    free.dptr = at)
ADD(cuGraphAddBatchMemOpNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
    const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, p, memOp = *p)

VF_EXPORT CUresult cuGraphAddEmptyNode(WHERE)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    return add("cuGraphAddEmptyNode", out, graph, from, count, &params);
}

VF_EXPORT CUresult cuGraphAddMemcpyNode(WHERE, const CUDA_MEMCPY3D *copy,
                                        CUcontext context)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    if (!copy)
        return CUDA_ERROR_INVALID_VALUE;
    params.memcpy.copyCtx = context;
    params.memcpy.copyParams = *copy;
    return add("cuGraphAddMemcpyNode", out, graph, from, count, &params);
}

VF_EXPORT CUresult cuGraphAddMemsetNode(WHERE, const CUDA_MEMSET_NODE_PARAMS *p,
                                        CUcontext context)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&params.memset, p, sizeof *p);
    params.memset.ctx = context;
    return add("cuGraphAddMemsetNode", out, graph, from, count, &params);
}

VF_EXPORT CUresult cuGraphAddMemAllocNode(WHERE, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    params.alloc = *p;
    CUresult r = add("cuGraphAddMemAllocNode", out, graph, from, count,
                     &params);
    if (!r)
        p->dptr = params.alloc.dptr;
    return r;
}

/* ---- dependencies ----------------------------------------------------------------- */

static CUresult change(const char *call, CUgraph graph, const CUgraphNode *from,
                       const CUgraphNode *to, size_t count, bool adds)
{
    CUresult r = enter(call, graph);
    if (r || (count && (!from || !to)))
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    if (graph->has_memory && !adds)
        return CUDA_ERROR_NOT_SUPPORTED;
    for (size_t i = 0; i < count; i++)
        if (vf_node_find(from[i]) || vf_node_find(to[i]) ||
            from[i]->graph != graph || to[i]->graph != graph ||
            from[i] == to[i])
            return CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    for (size_t i = 0; i < count && !r; i++) {
        CUgraphNode start = from[i];
        unsigned mark = vf_graph_mark(&start, 1);
        if (!adds)
            vf_node_unlink(to[i], start);
        else if (to[i]->mark == mark || !vf_node_link(to[i], start))
            r = CUDA_ERROR_INVALID_VALUE; /* a circle, or there already */
    }
    vf_graph_unlock();
    return r;
}

#define CHANGE(name, adds)                                                    \
    VF_EXPORT CUresult name(CUgraph graph, const CUgraphNode *from,           \
                            const CUgraphNode *to, size_t count)              \
    {                                                                         \
        return change(#name, graph, from, to, count, adds);                   \
    }                                                                         \
    VF_EXPORT CUresult name##_v2(CUgraph graph, const CUgraphNode *from,      \
                                 const CUgraphNode *to,                       \
                                 const CUgraphEdgeData *edges, size_t count)  \
    {                                                                         \
        (void)edges;                                                          \
        return change(#name, graph, from, to, count, adds);                   \
    }
CHANGE(cuGraphAddDependencies, true)
CHANGE(cuGraphRemoveDependencies, false)
