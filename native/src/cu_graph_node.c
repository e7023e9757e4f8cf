/* Memory nodes cost nothing before a graph is instantiated: only noticed. */
#include "cu_memory.h"

CUresult cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph graph,
                                const CUgraphNode *after, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    vx_cu_graph_memory_expect();
    return vx_cu()->cuGraphAddMemAllocNode(out, graph, after, count, params);
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph graph,
                               const CUgraphNode *after, size_t count,
                               CUdeviceptr at)
{
    vx_cu_graph_memory_expect();
    return vx_cu()->cuGraphAddMemFreeNode(out, graph, after, count, at);
}

static void notice(const CUgraphNodeParams *params)
{
    if (params && (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
                   params->type == CU_GRAPH_NODE_TYPE_MEM_FREE))
        vx_cu_graph_memory_expect();
}

CUresult cuGraphAddNode(CUgraphNode *out, CUgraph graph,
                        const CUgraphNode *after, size_t count,
                        CUgraphNodeParams *params)
{
    notice(params);
    return vx_cu()->cuGraphAddNode(out, graph, after, count, params);
}

CUresult cuGraphAddNode_v2(CUgraphNode *out, CUgraph graph,
                           const CUgraphNode *after,
                           const CUgraphEdgeData *edges, size_t count,
                           CUgraphNodeParams *params)
{
    notice(params);
    return vx_cu()->cuGraphAddNode_v2(out, graph, after, edges, count, params);
}

CUresult cuGraphAddNode_v3(CUgraphNode *out, CUgraph graph,
                           const CUgraphNode *after,
                           const CUgraphEdgeData *edges, size_t count,
                           CUgraphNodeParams *params)
{
    notice(params);
    return vx_cu()->cuGraphAddNode_v3(out, graph, after, edges, count, params);
}
