/* Graphs as data: nodes, what they depend on, copies. One lock for all. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUgraph free_graphs;
static CUgraphNode free_nodes;
static uint64_t last_key;
static unsigned last_graph, last_mark;

static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    free_graphs = NULL;
    free_nodes = NULL;
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, after_fork); }

void vf_graph_lock(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lock);
}

void vf_graph_unlock(void) { pthread_mutex_unlock(&lock); }

CUresult vf_graph_find(CUgraph graph)
{
    return graph && graph->magic == VF_GRAPH_MAGIC ? CUDA_SUCCESS
                                                   : CUDA_ERROR_INVALID_VALUE;
}

CUresult vf_node_find(CUgraphNode node)
{
    return node && node->magic == VF_NODE_MAGIC ? CUDA_SUCCESS
                                                : CUDA_ERROR_INVALID_VALUE;
}

CUgraph vf_graph_new(void)
{
    CUgraph graph = free_graphs;
    if (graph)
        free_graphs = graph->next;
    else
        graph = malloc(sizeof *graph);
    if (!graph)
        return NULL;
    memset(graph, 0, sizeof *graph);
    graph->id = ++last_graph;
    graph->magic = VF_GRAPH_MAGIC;
    return graph;
}

/* ---- nodes -------------------------------------------------------------------- */

static void drop_params(CUgraphNode node)
{
    if (node->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        free(node->params.memOp.paramArray);
    if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        vf_graph_memory_drop(node->card, node->params.alloc.dptr);
    if (node->child)
        vf_graph_free(node->child);
    node->child = NULL;
}

static void free_node(CUgraphNode node)
{
    drop_params(node);
    node->magic = 0;
    free(node->from);
    node->next = free_nodes;
    free_nodes = node;
}

void vf_graph_free(CUgraph graph)
{
    vf_graph_drop_objects(graph);
    for (size_t i = 0; i < graph->count; i++)
        free_node(graph->nodes[i]);
    free(graph->nodes);
    graph->magic = 0;
    graph->next = free_graphs;
    free_graphs = graph;
}

static CUgraphNode new_node(CUgraph graph, CUgraphNodeType type)
{
    if (graph->count == graph->room) {
        size_t room = graph->room ? graph->room * 2 : 16;
        CUgraphNode *nodes = realloc(graph->nodes, room * sizeof *nodes);
        if (!nodes)
            return NULL;
        graph->nodes = nodes;
        graph->room = room;
    }
    CUgraphNode node = free_nodes;
    if (node)
        free_nodes = node->next;
    else
        node = malloc(sizeof *node);
    if (!node)
        return NULL;
    memset(node, 0, sizeof *node);
    node->type = type;
    node->graph = graph;
    node->id = graph->next_node++;
    node->key = ++last_key;
    node->magic = VF_NODE_MAGIC;
    graph->nodes[graph->count++] = node;
    return node;
}

static void remove_node(CUgraphNode node)
{
    CUgraph graph = node->graph;
    size_t at = 0;
    for (size_t i = 0; i < graph->count; i++)
        vf_node_unlink(graph->nodes[i], node);
    while (graph->nodes[at] != node)
        at++;
    memmove(&graph->nodes[at], &graph->nodes[at + 1],
            (graph->count - at - 1) * sizeof node);
    graph->count--;
    free_node(node);
}

bool vf_node_link(CUgraphNode node, CUgraphNode from)
{
    for (size_t i = 0; i < node->from_count; i++)
        if (node->from[i] == from)
            return false;
    CUgraphNode *grown = realloc(node->from,
                                 (node->from_count + 1) * sizeof *grown);
    if (!grown)
        return false;
    node->from = grown;
    node->from[node->from_count++] = from;
    return true;
}

void vf_node_unlink(CUgraphNode node, CUgraphNode from)
{
    size_t kept = 0;
    for (size_t i = 0; i < node->from_count; i++)
        if (node->from[i] != from)
            node->from[kept++] = node->from[i];
    node->from_count = kept;
}

unsigned vf_graph_mark(CUgraphNode *targets, size_t count)
{
    unsigned mark = ++last_mark;
    CUgraph graph = count ? targets[0]->graph : NULL;
    bool changed = count > 0;
    for (size_t i = 0; i < count; i++)
        targets[i]->mark = mark;
    while (changed) { /* mostly once: nodes follow what they depend on */
        changed = false;
        for (size_t i = graph->count; i-- > 0;)
            for (size_t k = 0; graph->nodes[i]->mark == mark &&
                               k < graph->nodes[i]->from_count; k++)
                if (graph->nodes[i]->from[k]->mark != mark) {
                    graph->nodes[i]->from[k]->mark = mark;
                    changed = true;
                }
    }
    return mark;
}

/* ---- parameters ------------------------------------------------------------------ */

static CUresult set_kernel(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
    struct vf_launch launch = {
        p->func ? p->func : (CUfunction)p->kern,
        {p->gridDimX, p->gridDimY, p->gridDimZ},
        {p->blockDimX, p->blockDimY, p->blockDimZ}, p->sharedMemBytes,
        p->kernelParams, p->extra};
    struct vf_kernel_args args;
    CUresult r = vf_launch_check(&launch);
    if (r)
        return r;
    if (!vf_kernel_args(&launch, &args))
        return CUDA_ERROR_INVALID_VALUE;
    node->args = args;
    node->params.kernel = *p;
    for (int i = 0; i < 4; i++)
        node->arg_at[i] = &node->args.word[i];
    node->params.kernel.kernelParams = node->arg_at;
    node->params.kernel.extra = NULL;
    return CUDA_SUCCESS;
}

static CUresult set_ops(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    if (!p->paramArray || p->count == 0 || p->count > 256)
        return CUDA_ERROR_INVALID_VALUE;
    size_t bytes = p->count * sizeof *p->paramArray;
    CUstreamBatchMemOpParams *copy = malloc(bytes);
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(copy, p->paramArray, bytes);
    free(node->params.memOp.paramArray);
    node->params.memOp = *p;
    node->params.memOp.paramArray = copy;
    return CUDA_SUCCESS;
}

static CUresult set_child(CUgraphNode node, CUgraph graph)
{
    CUgraph copy;
    CUresult r = vf_graph_find(graph);
    if (!r)
        r = vf_graph_copy(graph, &copy);
    if (r)
        return r;
    if (node->child)
        vf_graph_free(node->child);
    copy->is_part = true;
    node->child = copy;
    node->params.graph.graph = copy;
    return CUDA_SUCCESS;
}

static CUresult set_memory(CUgraphNode node, const CUgraphNodeParams *p)
{
    CUresult r = vf_current_card(&node->card);
    if (r)
        return r;
    if (node->type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
        if (!vf_is_device_range(p->free.dptr, 1))
            return CUDA_ERROR_INVALID_VALUE;
        node->params.free.dptr = p->free.dptr;
        return CUDA_SUCCESS;
    }
    node->params.alloc = p->alloc;
    return vf_graph_memory_add(node->card, &node->params.alloc);
}

CUresult vf_node_set(CUgraphNode node, const CUgraphNodeParams *p)
{
    struct vf_box box;
    CUresult r = CUDA_SUCCESS;
    switch (node->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return set_kernel(node, &p->kernel);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return set_ops(node, &p->memOp);
    case CU_GRAPH_NODE_TYPE_GRAPH: return set_child(node, p->graph.graph);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return set_memory(node, p);
    case CU_GRAPH_NODE_TYPE_EMPTY: return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        r = vf_copy_box(&p->memcpy.copyParams, &box);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        r = vf_fill_box(&p->memset, &box);
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        r = p->host.fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        r = vf_event_find(p->eventRecord.event);
        break;
    default: return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (!r)
        node->params = *p;
    return r;
}

CUresult vf_graph_add(CUgraph graph, const CUgraphNode *from, size_t count,
                      CUgraphNodeParams *params, CUgraphNode *out)
{
    if (count && !from)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (vf_node_find(from[i]) || from[i]->graph != graph)
            return CUDA_ERROR_INVALID_VALUE;
    CUgraphNode node = new_node(graph, params->type);
    if (!node)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = vf_node_set(node, params);
    for (size_t i = 0; i < count && !r; i++)
        if (!vf_node_link(node, from[i]))
            r = CUDA_ERROR_INVALID_VALUE;
    if (r) {
        if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
            !node->params.alloc.dptr)
            node->type = CU_GRAPH_NODE_TYPE_EMPTY; /* nothing to drop */
        remove_node(node);
        return r;
    }
    node->params.type = params->type;
    if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        params->alloc.dptr = node->params.alloc.dptr;
    if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
        params->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        graph->has_memory = true;
    *out = node;
    return CUDA_SUCCESS;
}


CUresult vf_node_destroy(CUgraphNode node)
{
    if (node->graph->has_memory)
        return CUDA_ERROR_NOT_SUPPORTED;
    remove_node(node);
    return CUDA_SUCCESS;
}

/* ---- copies -------------------------------------------------------------------------- */

static CUresult copy_node(CUgraph to, CUgraphNode node)
{
    CUgraphNode copy = new_node(to, node->type);
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    copy->origin = node->key;
    copy->id = node->id;
    copy->disabled = node->disabled;
    copy->card = node->card;
    if (node->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return set_child(copy, node->child);
    if (node->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        return set_ops(copy, &node->params.memOp);
    copy->params = node->params;
    copy->args = node->args;
    for (int i = 0; i < 4; i++)
        copy->arg_at[i] = &copy->args.word[i];
    if (node->type == CU_GRAPH_NODE_TYPE_KERNEL)
        copy->params.kernel.kernelParams = copy->arg_at;
    if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        vf_graph_memory_share(node->card, node->params.alloc.dptr);
    return CUDA_SUCCESS;
}

CUgraphNode vf_graph_clone_of(CUgraph graph, uint64_t origin)
{
    for (size_t i = 0; i < graph->count; i++) {
        CUgraphNode node = graph->nodes[i];
        if (node->origin == origin)
            return node;
        CUgraphNode inner = node->child ? vf_graph_clone_of(node->child, origin)
                                        : NULL;
        if (inner)
            return inner;
    }
    return NULL;
}

CUresult vf_graph_copy(CUgraph graph, CUgraph *out)
{
    CUgraph copy = vf_graph_new();
    CUresult r = copy ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < graph->count && !r; i++) {
        graph->nodes[i]->id = (unsigned)i; /* its place, for the links */
        r = copy_node(copy, graph->nodes[i]);
    }
    for (size_t i = 0; i < graph->count && !r; i++)
        for (size_t k = 0; k < graph->nodes[i]->from_count; k++)
            vf_node_link(copy->nodes[i],
                         copy->nodes[graph->nodes[i]->from[k]->id]);
    if (r && copy)
        vf_graph_free(copy);
    if (r)
        return r;
    vf_graph_share_objects(graph, copy);
    copy->has_memory = graph->has_memory;
    copy->next_node = (unsigned)copy->count;
    *out = copy;
    return CUDA_SUCCESS;
}
