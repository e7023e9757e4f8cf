/*
 * Class F: graphs. A graph's cost is what its launches measured as a whole;
 * a change of the executable graph makes it an unknown again.
 */
#include "cu_gate.h"
#include "cu_memory.h"

/* An executable graph is no function: its keys are apart. */
static uint64_t key_of(CUgraphExec exec)
{
    return vx_cost_key(exec, 0, 0) ^ 1ULL << 52;
}

static CUresult launch(CUresult (*real)(CUgraphExec, CUstream), bool per_thread,
                       CUgraphExec exec, CUstream stream)
{
    CUstream s = vx_stream(stream, per_thread);
    uint64_t key = key_of(exec);
    enum vx_turn turn;
    bool quick = vx_gate_quick(s, key);
    CUresult err = quick ? CUDA_SUCCESS : vx_gate_enter(s, key, &turn);
    if (err != CUDA_SUCCESS)
        return err;
    err = real(exec, stream);
    if (!quick)
        vx_gate_leave(s, turn);
    if (err == CUDA_SUCCESS)
        vx_cu_graph_launched(exec);
    return err;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    return launch(vx_cu()->cuGraphLaunch, false, exec, stream);
}

CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream)
{
    return launch(vx_cu()->cuGraphLaunch_ptsz, true, exec, stream);
}

void vx_graph_cost_changed(CUgraphExec exec)
{
    vx_cost_forget(key_of(exec));
}

#define CHANGES(name, params, ...)        \
    CUresult name params                  \
    {                                     \
        vx_graph_cost_changed(exec);      \
        return vx_cu()->name(__VA_ARGS__); \
    }
CHANGES(cuGraphExecUpdate, (CUgraphExec exec, CUgraph graph, CUgraphNode *node, CUgraphExecUpdateResult *result), exec, graph, node, result)
CHANGES(cuGraphExecUpdate_v2, (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info), exec, graph, info)
CHANGES(cuGraphExecNodeSetParams, (CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p), exec, node, p)
CHANGES(cuGraphExecKernelNodeSetParams, (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p), exec, node, p)
CHANGES(cuGraphExecKernelNodeSetParams_v2, (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p), exec, node, p)
CHANGES(cuGraphExecMemcpyNodeSetParams, (CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *p, CUcontext ctx), exec, node, p, ctx)
CHANGES(cuGraphExecMemsetNodeSetParams, (CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx), exec, node, p, ctx)
CHANGES(cuGraphExecChildGraphNodeSetParams, (CUgraphExec exec, CUgraphNode node, CUgraph child), exec, node, child)
CHANGES(cuGraphNodeSetEnabled, (CUgraphExec exec, CUgraphNode node, unsigned int enabled), exec, node, enabled)
