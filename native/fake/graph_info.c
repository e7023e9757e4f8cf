/* What graphs and nodes say of themselves. */
#include <string.h>

#include "graph.h"

static CUresult enter_graph(const char *call, CUgraph graph)
{
    CUresult r = vf_enter_driver(call);
    return r ? r : vf_graph_find(graph);
}

static CUresult enter_node(const char *call, CUgraphNode node)
{
    CUresult r = vf_enter_driver(call);
    return r ? r : vf_node_find(node);
}

/* Fills up to *room entries, the rest with NULL; without a list: the count. */
static void give(CUgraphNode *list, size_t *room, const CUgraphNode *all,
                 size_t count)
{
    for (size_t i = 0; list && i < *room; i++)
        list[i] = i < count ? all[i] : NULL;
    if (!list || *room > count)
        *room = count;
}

VF_EXPORT CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes,
                                   size_t *count)
{
    CUresult r = enter_graph("cuGraphGetNodes", graph);
    if (r || !count)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    give(nodes, count, graph->nodes, graph->count);
    vf_graph_unlock();
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes,
                                       size_t *count)
{
    CUresult r = enter_graph("cuGraphGetRootNodes", graph);
    size_t found = 0;
    if (r || !count)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    for (size_t i = 0; i < graph->count; i++) {
        if (graph->nodes[i]->from_count)
            continue;
        if (nodes && found < *count)
            nodes[found] = graph->nodes[i];
        found++;
    }
    vf_graph_unlock();
    for (size_t i = found; nodes && i < *count; i++)
        nodes[i] = NULL;
    if (!nodes || *count > found)
        *count = found;
    return CUDA_SUCCESS;
}

static CUresult get_edges(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                          CUgraphEdgeData *data, size_t *count)
{
    CUresult r = enter_graph("cuGraphGetEdges", graph);
    size_t found = 0;
    if (r || !count)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    for (size_t i = 0; i < graph->count; i++)
        for (size_t k = 0; k < graph->nodes[i]->from_count; k++, found++) {
            if (!from || !to || found >= *count)
                continue;
            from[found] = graph->nodes[i]->from[k];
            to[found] = graph->nodes[i];
            if (data)
                memset(&data[found], 0, sizeof *data);
        }
    vf_graph_unlock();
    if (!from || !to || *count > found)
        *count = found;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from,
                                   CUgraphNode *to, size_t *count)
{
    return get_edges(graph, from, to, NULL, count);
}

VF_EXPORT CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from,
                                      CUgraphNode *to, CUgraphEdgeData *data,
                                      size_t *count)
{
    return get_edges(graph, from, to, data, count);
}

static CUresult get_dependencies(CUgraphNode node, CUgraphNode *list,
                                 CUgraphEdgeData *data, size_t *count)
{
    CUresult r = enter_node("cuGraphNodeGetDependencies", node);
    if (r || !count)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    if (data && list)
        memset(data, 0, *count * sizeof *data);
    give(list, count, node->from, node->from_count);
    vf_graph_unlock();
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuGraphNodeGetDependencies(CUgraphNode node,
                                              CUgraphNode *list, size_t *count)
{
    return get_dependencies(node, list, NULL, count);
}

VF_EXPORT CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node,
                                                 CUgraphNode *list,
                                                 CUgraphEdgeData *data,
                                                 size_t *count)
{
    return get_dependencies(node, list, data, count);
}

static CUresult get_dependents(CUgraphNode node, CUgraphNode *list,
                               CUgraphEdgeData *data, size_t *count)
{
    CUresult r = enter_node("cuGraphNodeGetDependentNodes", node);
    size_t found = 0;
    if (r || !count)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    for (size_t i = 0; i < node->graph->count; i++)
        for (size_t k = 0; k < node->graph->nodes[i]->from_count; k++) {
            if (node->graph->nodes[i]->from[k] != node)
                continue;
            if (list && found < *count)
                list[found] = node->graph->nodes[i];
            if (list && data && found < *count)
                memset(&data[found], 0, sizeof *data);
            found++;
        }
    vf_graph_unlock();
    if (!list || *count > found)
        *count = found;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuGraphNodeGetDependentNodes(CUgraphNode node,
                                                CUgraphNode *list,
                                                size_t *count)
{
    return get_dependents(node, list, NULL, count);
}

VF_EXPORT CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node,
                                                   CUgraphNode *list,
                                                   CUgraphEdgeData *data,
                                                   size_t *count)
{
    return get_dependents(node, list, data, count);
}

VF_EXPORT CUresult cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode node,
                                          CUgraph clone)
{
    CUresult r = enter_node("cuGraphNodeFindInClone", node);
    if (!r)
        r = vf_graph_find(clone);
    if (r || !out)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    *out = vf_graph_clone_of(clone, node->key);
    vf_graph_unlock();
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

#define TELL(name, type, field)                                  \
    VF_EXPORT CUresult name(CUgraphNode node, type *out)         \
    {                                                            \
        CUresult r = enter_node(#name, node);                    \
        if (r || !out)                                           \
            return r ? r : CUDA_ERROR_INVALID_VALUE;             \
        *out = node->field;                                      \
        return CUDA_SUCCESS;                                     \
    }
TELL(cuGraphNodeGetType, CUgraphNodeType, type)
TELL(cuGraphNodeGetContainingGraph, CUgraph, graph)
TELL(cuGraphNodeGetLocalId, unsigned, id)
TELL(cuGraphNodeGetToolsId, unsigned long long, key)

VF_EXPORT CUresult cuGraphGetId(CUgraph graph, unsigned *id)
{
    CUresult r = enter_graph("cuGraphGetId", graph);
    if (r || !id)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *id = graph->id;
    return CUDA_SUCCESS;
}

/* ---- parameters ------------------------------------------------------------ */

#define GET(name, kind, type_, field)                             \
    VF_EXPORT CUresult name(CUgraphNode node, type_ *out)         \
    {                                                             \
        CUresult r = enter_node(#name, node);                     \
        if (r || !out || node->type != kind)                      \
            return r ? r : CUDA_ERROR_INVALID_VALUE;              \
        memcpy(out, &node->params.field, sizeof *out);            \
        return CUDA_SUCCESS;                                      \
    }
GET(cuGraphKernelNodeGetParams, CU_GRAPH_NODE_TYPE_KERNEL,
    CUDA_KERNEL_NODE_PARAMS_v1, kernel)
GET(cuGraphKernelNodeGetParams_v2, CU_GRAPH_NODE_TYPE_KERNEL,
    CUDA_KERNEL_NODE_PARAMS, kernel)
GET(cuGraphMemcpyNodeGetParams, CU_GRAPH_NODE_TYPE_MEMCPY, CUDA_MEMCPY3D,
    memcpy.copyParams)
GET(cuGraphMemsetNodeGetParams, CU_GRAPH_NODE_TYPE_MEMSET,
    CUDA_MEMSET_NODE_PARAMS, memset)
GET(cuGraphHostNodeGetParams, CU_GRAPH_NODE_TYPE_HOST, CUDA_HOST_NODE_PARAMS,
    host)
GET(cuGraphChildGraphNodeGetGraph, CU_GRAPH_NODE_TYPE_GRAPH, CUgraph,
    graph.graph)
GET(cuGraphEventRecordNodeGetEvent, CU_GRAPH_NODE_TYPE_EVENT_RECORD, CUevent,
    eventRecord.event)
GET(cuGraphEventWaitNodeGetEvent, CU_GRAPH_NODE_TYPE_WAIT_EVENT, CUevent,
    eventWait.event)
GET(cuGraphMemAllocNodeGetParams, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
    CUDA_MEM_ALLOC_NODE_PARAMS, alloc)
GET(cuGraphMemFreeNodeGetParams, CU_GRAPH_NODE_TYPE_MEM_FREE, CUdeviceptr,
    free.dptr)
GET(cuGraphBatchMemOpNodeGetParams, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
    CUDA_BATCH_MEM_OP_NODE_PARAMS, memOp)

VF_EXPORT CUresult cuGraphNodeGetParams(CUgraphNode node,
                                        CUgraphNodeParams *out)
{
    CUresult r = enter_node("cuGraphNodeGetParams", node);
    if (r || !out)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *out = node->params;
    out->type = node->type;
    return CUDA_SUCCESS;
}
