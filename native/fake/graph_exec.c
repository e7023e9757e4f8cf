/* Executable graphs: instantiation, launch, update. */
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "graph.h"

static CUgraphExec free_execs; /* the graphs' lock guards it */
static unsigned last_exec;

static void after_fork(void) { free_execs = NULL; }

static void watch_forks(void) { pthread_atfork(NULL, NULL, after_fork); }

static CUresult find_exec(CUgraphExec exec)
{
    return exec && exec->magic == VF_EXEC_MAGIC ? CUDA_SUCCESS
                                                : CUDA_ERROR_INVALID_VALUE;
}

/* ---- instantiation ------------------------------------------------------------ */

static CUresult make(CUgraph graph, cuuint64_t flags, CUgraphExec *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    CUgraph body;
    pthread_once(&once, watch_forks);
    if (graph->has_memory && graph->exec)
        return CUDA_ERROR_NOT_SUPPORTED; /* one at a time */
    CUresult r = vf_graph_copy(graph, &body);
    if (r)
        return r;
    CUgraphExec exec = free_execs;
    if (exec)
        free_execs = exec->next;
    else
        exec = malloc(sizeof *exec);
    if (!exec) {
        vf_graph_free(body);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memset(exec, 0, sizeof *exec);
    body->is_part = true;
    exec->body = body;
    exec->flags = flags;
    exec->id = ++last_exec;
    if (graph->has_memory) {
        exec->source = graph;
        graph->exec = exec;
    }
    exec->magic = VF_EXEC_MAGIC;
    *out = exec;
    return CUDA_SUCCESS;
}

static CUresult instantiate(const char *call, CUgraphExec *out, CUgraph graph,
                            cuuint64_t flags)
{
    CUcontext context;
    CUresult r = vf_enter(call, &context);
    if (!r)
        r = vf_graph_find(graph);
    if (r || !out || flags > 15)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    r = make(graph, flags, out);
    vf_graph_unlock();
    return r;
}

#define WITH_LOG(name)                                                      \
    VF_EXPORT CUresult name(CUgraphExec *out, CUgraph graph,                \
                            CUgraphNode *failed, char *log, size_t size)    \
    {                                                                       \
        if (failed)                                                         \
            *failed = NULL;                                                 \
        if (log && size)                                                    \
            log[0] = '\0';                                                  \
        return instantiate(#name, out, graph, 0);                           \
    }
WITH_LOG(cuGraphInstantiate)
WITH_LOG(cuGraphInstantiate_v2)

VF_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph,
                                               unsigned long long flags)
{
    return instantiate("cuGraphInstantiateWithFlags", out, graph, flags);
}

static CUresult with_params(CUgraphExec *out, CUgraph graph,
                            CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = instantiate("cuGraphInstantiateWithParams", out, graph,
                             params->flags);
    params->hErrNode_out = NULL;
    params->result_out = r ? CUDA_GRAPH_INSTANTIATE_ERROR
                           : CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return r;
}

VF_EXPORT CUresult cuGraphInstantiateWithParams(
    CUgraphExec *out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    return with_params(out, graph, params);
}

VF_EXPORT CUresult cuGraphInstantiateWithParams_ptsz(
    CUgraphExec *out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    return with_params(out, graph, params);
}

VF_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    CUresult r = vf_enter_driver("cuGraphExecDestroy");
    if (!r)
        r = find_exec(exec);
    if (r)
        return r;
    vf_graph_lock();
    if (exec->source)
        exec->source->exec = NULL;
    vf_plan_drop(exec->plan);
    vf_graph_free(exec->body);
    exec->magic = 0;
    exec->next = free_execs;
    free_execs = exec;
    vf_graph_unlock();
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags)
{
    CUresult r = find_exec(exec);
    if (r || !flags)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *flags = exec->flags & ~(cuuint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuGraphExecGetId(CUgraphExec exec, unsigned *id)
{
    CUresult r = find_exec(exec);
    if (r || !id)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *id = exec->id;
    return CUDA_SUCCESS;
}

/* ---- launch -------------------------------------------------------------------- */

static CUresult capture_launch(CUgraphExec exec, struct CUstream_st *stream)
{
    CUresult r = CUDA_ERROR_NOT_SUPPORTED;
    CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_GRAPH,
                              .graph = {.graph = exec->body}};
    if (!exec->body->has_memory)
        vf_capture_node(stream, &node, &r);
    return r;
}

static CUresult launch(const char *call, enum vf_twin twin, CUgraphExec exec,
                       CUstream handle)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (!r)
        r = find_exec(exec);
    if (r)
        return r;
    if (vf_captures(stream))
        return capture_launch(exec, stream);
    vf_graph_lock();
    if (!exec->plan)
        exec->plan = vf_plan_make(stream->lane->card, exec->body);
    struct vf_plan *plan = exec->plan;
    if (plan)
        vf_plan_use(plan);
    vf_graph_unlock();
    if (!plan)
        return CUDA_ERROR_OUT_OF_MEMORY;
    r = vf_plan_launch(plan, stream);
    vf_plan_drop(plan);
    return r;
}

VF_TWINS(cuGraphLaunch, _ptsz, (CUgraphExec exec, CUstream stream), launch,
         exec, stream)

static CUresult upload(const char *call, enum vf_twin twin, CUgraphExec exec,
                       CUstream handle)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (!r)
        r = find_exec(exec);
    return r ? r : vf_capture_refuses(stream);
}

VF_TWINS(cuGraphUpload, _ptsz, (CUgraphExec exec, CUstream stream), upload,
         exec, stream)

/* ---- update ---------------------------------------------------------------------- */

/* The same node in both, by place; what it depends on is compared so too. */
static bool same_links(CUgraphNode a, CUgraphNode b)
{
    if (a->from_count != b->from_count)
        return false;
    for (size_t i = 0; i < a->from_count; i++)
        if (a->from[i]->id != b->from[i]->id)
            return false;
    return true;
}

static CUgraphExecUpdateResult compare(CUgraph old, CUgraph new,
                                       CUgraphNode *wrong, CUgraphNode *from)
{
    if (old->count != new->count)
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (new->has_memory)
        return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
    for (size_t i = 0; i < old->count; i++)
        old->nodes[i]->id = new->nodes[i]->id = (unsigned)i;
    for (size_t i = 0; i < old->count; i++) {
        CUgraphNode a = old->nodes[i], b = new->nodes[i];
        CUgraphExecUpdateResult found = CU_GRAPH_EXEC_UPDATE_SUCCESS;
        *wrong = b;
        if (a->type != b->type)
            return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        if (!same_links(a, b))
            return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        if (a->child)
            found = compare(a->child, b->child, wrong, from);
        if (found)
            return found;
    }
    *wrong = NULL;
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUresult replace(CUgraphExec exec, CUgraph graph)
{
    CUgraph body;
    CUresult r = vf_graph_copy(graph, &body);
    if (r)
        return r;
    /* The handles that the program has are those of the first graph. */
    for (size_t i = 0; i < body->count; i++) {
        body->nodes[i]->origin = exec->body->nodes[i]->origin;
        body->nodes[i]->disabled = exec->body->nodes[i]->disabled;
    }
    vf_graph_free(exec->body);
    body->is_part = true;
    exec->body = body;
    vf_plan_drop(exec->plan);
    exec->plan = NULL;
    return CUDA_SUCCESS;
}

static CUresult update(CUgraphExec exec, CUgraph graph,
                       CUgraphExecUpdateResultInfo *info)
{
    CUresult r = vf_enter_driver("cuGraphExecUpdate");
    if (!r)
        r = find_exec(exec);
    if (!r)
        r = vf_graph_find(graph);
    if (r)
        return r;
    memset(info, 0, sizeof *info);
    vf_graph_lock();
    info->result = compare(exec->body, graph, &info->errorNode,
                           &info->errorFromNode);
    r = info->result ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
                     : replace(exec, graph);
    vf_graph_unlock();
    return r;
}

VF_EXPORT CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph,
                                     CUgraphNode *failed,
                                     CUgraphExecUpdateResult *result)
{
    CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    if (!failed || !result)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = update(exec, graph, &info);
    *failed = info.errorNode;
    *result = info.result;
    return r;
}

VF_EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                                        CUgraphExecUpdateResultInfo *info)
{
    return info ? update(exec, graph, info) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- single nodes ------------------------------------------------------------------ */

static bool can_rest(CUgraphNode node)
{
    return node->type == CU_GRAPH_NODE_TYPE_KERNEL ||
           node->type == CU_GRAPH_NODE_TYPE_MEMCPY ||
           node->type == CU_GRAPH_NODE_TYPE_MEMSET;
}

static CUresult find_inside(CUgraphExec exec, CUgraphNode node,
                            CUgraphNode *inside)
{
    CUresult r = find_exec(exec);
    if (!r)
        r = vf_node_find(node);
    if (r || !can_rest(node))
        return CUDA_ERROR_INVALID_VALUE;
    *inside = vf_graph_clone_of(exec->body, node->key);
    return *inside ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

VF_EXPORT CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node,
                                         unsigned enabled)
{
    CUgraphNode inside;
    vf_graph_lock();
    CUresult r = find_inside(exec, node, &inside);
    if (!r) {
        inside->disabled = !enabled;
        vf_plan_drop(exec->plan);
        exec->plan = NULL;
    }
    vf_graph_unlock();
    return r;
}

VF_EXPORT CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node,
                                         unsigned *enabled)
{
    CUgraphNode inside;
    if (!enabled)
        return CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    CUresult r = find_inside(exec, node, &inside);
    if (!r)
        *enabled = !inside->disabled;
    vf_graph_unlock();
    return r;
}
