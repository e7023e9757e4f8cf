/* The entries that change a node, in its graph or in an executable graph. */
#include <string.h>

#include "graph.h"

static CUresult set(const char *call, CUgraphNode node,
                    const CUgraphNodeParams *params)
{
    CUresult r = vf_enter_driver(call);
    if (!r)
        r = vf_node_find(node);
    if (r || !params || node->type != params->type)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    r = vf_node_set(node, params);
    node->params.type = node->type;
    vf_graph_unlock();
    return r;
}

static bool changes_memory(const CUgraphNodeParams *params)
{
    return params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
           params->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

static CUresult set_exec(const char *call, CUgraphExec exec, CUgraphNode node,
                         const CUgraphNodeParams *params)
{
    CUresult r = vf_enter_driver(call);
    if (!r)
        r = vf_node_find(node);
    if (r || !exec || exec->magic != VF_EXEC_MAGIC || !params ||
        node->type != params->type)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    if (changes_memory(params))
        return CUDA_ERROR_NOT_SUPPORTED;
    vf_graph_lock();
    CUgraphNode inside = vf_graph_clone_of(exec->body, node->key);
    r = inside ? vf_node_set(inside, params) : CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        inside->params.type = inside->type;
        vf_plan_drop(exec->plan);
        exec->plan = NULL;
    }
    vf_graph_unlock();
    return r;
}

VF_EXPORT CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *p)
{
    return p && changes_memory(p) ? CUDA_ERROR_NOT_SUPPORTED
                                  : set("cuGraphNodeSetParams", node, p);
}

VF_EXPORT CUresult cuGraphNodeSetParams_v2(CUgraphNode node,
                                           CUgraphNodeParams *p)
{
    return cuGraphNodeSetParams(node, p);
}

VF_EXPORT CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            CUgraphNodeParams *p)
{
    return set_exec("cuGraphExecNodeSetParams", exec, node, p);
}

/* Both forms of one type: `given` says how the parameters come in. */
#define SET(name, exec_name, kind, field, given, bytes, source, ...)         \
    VF_EXPORT CUresult name(CUgraphNode node, given)                         \
    {                                                                        \
        CUgraphNodeParams params = {.type = kind};                           \
        const void *from = source;                                           \
        if (!from)                                                           \
            return CUDA_ERROR_INVALID_VALUE;                                 \
        memcpy(&params.field, from, bytes);                                  \
        return set(#name, node, &params);                                    \
    }                                                                        \
    VF_EXPORT CUresult exec_name(CUgraphExec exec, CUgraphNode node,         \
                                 given __VA_ARGS__)                          \
    {                                                                        \
        CUgraphNodeParams params = {.type = kind};                           \
        const void *from = source;                                           \
        if (!from)                                                           \
            return CUDA_ERROR_INVALID_VALUE;                                 \
        memcpy(&params.field, from, bytes);                                  \
        return set_exec(#exec_name, exec, node, &params);                    \
    }
#define AND_CONTEXT , CUcontext context __attribute__((unused))

SET(cuGraphKernelNodeSetParams, cuGraphExecKernelNodeSetParams,
    CU_GRAPH_NODE_TYPE_KERNEL, kernel, const CUDA_KERNEL_NODE_PARAMS_v1 *p,
    sizeof *p, p)
SET(cuGraphKernelNodeSetParams_v2, cuGraphExecKernelNodeSetParams_v2,
    CU_GRAPH_NODE_TYPE_KERNEL, kernel, const CUDA_KERNEL_NODE_PARAMS *p,
    sizeof *p, p)
SET(cuGraphMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams,
    CU_GRAPH_NODE_TYPE_MEMCPY, memcpy.copyParams, const CUDA_MEMCPY3D *p,
    sizeof *p, p, AND_CONTEXT)
SET(cuGraphMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams,
    CU_GRAPH_NODE_TYPE_MEMSET, memset, const CUDA_MEMSET_NODE_PARAMS *p,
    sizeof *p, p, AND_CONTEXT)
SET(cuGraphHostNodeSetParams, cuGraphExecHostNodeSetParams,
    CU_GRAPH_NODE_TYPE_HOST, host, const CUDA_HOST_NODE_PARAMS *p, sizeof *p, p)
SET(cuGraphBatchMemOpNodeSetParams, cuGraphExecBatchMemOpNodeSetParams,
    CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, memOp,
    const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, sizeof *p, p)
SET(cuGraphEventRecordNodeSetEvent, cuGraphExecEventRecordNodeSetEvent,
    CU_GRAPH_NODE_TYPE_EVENT_RECORD, eventRecord.event, CUevent event,
    sizeof event, &event)
SET(cuGraphEventWaitNodeSetEvent, cuGraphExecEventWaitNodeSetEvent,
    CU_GRAPH_NODE_TYPE_WAIT_EVENT, eventWait.event, CUevent event,
    sizeof event, &event)

VF_EXPORT CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec,
                                                      CUgraphNode node,
                                                      CUgraph child)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_GRAPH,
                                .graph = {.graph = child}};
    return set_exec("cuGraphExecChildGraphNodeSetParams", exec, node, &params);
}

/* ---- attributes: kept for nobody, so only what needs no keeping ----------- */

VF_EXPORT CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to,
                                                   CUgraphNode from)
{
    CUresult r = vf_node_find(to);
    return r ? r : vf_node_find(from);
}
