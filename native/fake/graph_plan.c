/*
 * A graph as the commands that a launch enqueues. Nodes are put in one order
 * (a card does one thing at a time); runs of kernels, copies and fills become
 * one command, so that a launch costs what it costs whatever its size.
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

enum segment_kind { WORK, HOST, RECORD, WAIT, VALUES };

struct step {
    void (*run)(void *arg);
    union {
        struct vf_kernel_args args;
        struct vf_box box;
        struct {
            struct vf_card *card;
            CUdeviceptr at;
        } memory;
    };
};

struct segment {
    enum segment_kind kind;
    bool computes; /* WORK: not only copies */
    uint64_t duration_ns;
    size_t first, last; /* WORK: steps */
    CUDA_HOST_NODE_PARAMS_v2 host;
    CUevent event;
    CUDA_BATCH_MEM_OP_NODE_PARAMS values;
};

struct vf_plan {
    _Atomic unsigned uses;
    struct segment *segments;
    struct step *steps;
    size_t segment_count, step_count;
    struct {
        struct vf_card *card;
        CUdeviceptr at;
    } *memory; /* to be taken at a launch */
    size_t memory_count;
    bool failed; /* no memory on the host */
};

void vf_plan_use(struct vf_plan *plan) { atomic_fetch_add(&plan->uses, 1); }

void vf_plan_drop(struct vf_plan *plan)
{
    if (!plan || atomic_fetch_sub(&plan->uses, 1) != 1)
        return;
    for (size_t i = 0; i < plan->segment_count; i++)
        free(plan->segments[i].values.paramArray);
    free(plan->segments);
    free(plan->steps);
    free(plan->memory);
    free(plan);
}

/* ---- making ---------------------------------------------------------------------- */

#define GROW(plan, list, count)                                           \
    do {                                                                  \
        if (((plan)->count & ((plan)->count + 1)) == 0) {                 \
            void *grown_ = realloc((plan)->list, ((plan)->count * 2 + 2) *\
                                                 sizeof *(plan)->list);   \
            if (grown_)                                                   \
                (plan)->list = grown_;                                    \
            else                                                          \
                (plan)->failed = true;                                    \
        }                                                                 \
    } while (0)

static struct segment *new_segment(struct vf_plan *plan, enum segment_kind kind)
{
    struct segment *segment = NULL;
    GROW(plan, segments, segment_count);
    if (plan->failed)
        return NULL;
    segment = &plan->segments[plan->segment_count++];
    memset(segment, 0, sizeof *segment);
    segment->kind = kind;
    segment->first = segment->last = plan->step_count;
    return segment;
}

static struct segment *work_segment(struct vf_plan *plan)
{
    if (plan->segment_count &&
        plan->segments[plan->segment_count - 1].kind == WORK)
        return &plan->segments[plan->segment_count - 1];
    return new_segment(plan, WORK);
}

static struct step *new_step(struct vf_plan *plan, struct segment *segment,
                             void (*run)(void *))
{
    GROW(plan, steps, step_count);
    if (plan->failed)
        return NULL;
    struct step *step = &plan->steps[plan->step_count++];
    memset(step, 0, sizeof *step);
    step->run = run;
    segment->last = plan->step_count;
    return step;
}

static void add_kernel(struct vf_plan *plan, const struct vf_card *card,
                       CUgraphNode node)
{
    struct vf_command command;
    const CUDA_KERNEL_NODE_PARAMS *p = &node->params.kernel;
    struct CUfunction_st *f = vf_function(p->func ? p->func
                                                  : (CUfunction)p->kern);
    struct segment *segment = f ? work_segment(plan) : NULL;
    if (!segment)
        return;
    vf_kernel_command(card, f, &node->args, &command);
    segment->duration_ns += command.duration_ns;
    segment->computes = true;
    struct step *step = command.effect
                            ? new_step(plan, segment, command.effect) : NULL;
    if (step)
        step->args = node->args;
}

static void add_box(struct vf_plan *plan, const struct vf_card *card,
                    struct vf_box *box)
{
    struct vf_command command;
    if (!box->width || !box->height || !box->depth)
        return;
    struct segment *segment = work_segment(plan);
    if (!segment)
        return;
    vf_box_command(card, box, &command);
    segment->duration_ns += command.duration_ns;
    struct step *step = new_step(plan, segment, vf_box_run);
    if (step)
        step->box = *box;
}

static void free_memory(void *arg)
{
    struct step *step = (struct step *)((char *)arg -
                                        offsetof(struct step, memory));
    vf_graph_memory_free(step->memory.card, step->memory.at);
}

static void add_memory(struct vf_plan *plan, CUgraphNode node)
{
    if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
        GROW(plan, memory, memory_count);
        if (plan->failed)
            return;
        plan->memory[plan->memory_count].card = node->card;
        plan->memory[plan->memory_count++].at = node->params.alloc.dptr;
        return;
    }
    struct segment *segment = work_segment(plan);
    struct step *step = segment ? new_step(plan, segment, free_memory) : NULL;
    if (step) {
        step->memory.card = node->card;
        step->memory.at = node->params.free.dptr;
    }
}

static void add_values(struct vf_plan *plan, CUgraphNode node)
{
    struct segment *segment = new_segment(plan, VALUES);
    size_t bytes = node->params.memOp.count *
                   sizeof *node->params.memOp.paramArray;
    CUstreamBatchMemOpParams *copy = segment ? malloc(bytes) : NULL;
    if (!copy)
        return;
    memcpy(copy, node->params.memOp.paramArray, bytes);
    segment->values = node->params.memOp;
    segment->values.paramArray = copy;
}

static void add_event(struct vf_plan *plan, CUgraphNode node)
{
    bool records = node->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    struct segment *segment = new_segment(plan, records ? RECORD : WAIT);
    if (segment)
        segment->event = node->params.eventRecord.event;
}

static void add_graph(struct vf_plan *plan, const struct vf_card *card,
                      CUgraph graph);

static void add_node(struct vf_plan *plan, const struct vf_card *card,
                     CUgraphNode node)
{
    struct vf_box box;
    struct segment *segment;
    if (node->disabled)
        return;
    switch (node->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: add_kernel(plan, card, node); break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        if (!vf_copy_box(&node->params.memcpy.copyParams, &box))
            add_box(plan, card, &box);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        if (!vf_fill_box(&node->params.memset, &box))
            add_box(plan, card, &box);
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        segment = new_segment(plan, HOST);
        if (segment)
            segment->host = node->params.host;
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH: add_graph(plan, card, node->child); break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: add_event(plan, node); break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE: add_memory(plan, node); break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: add_values(plan, node); break;
    default: break;
    }
}

/* What it depends on first; else in the order of making. */
static void visit(struct vf_plan *plan, const struct vf_card *card,
                  CUgraphNode node, unsigned mark)
{
    if (node->mark == mark)
        return;
    node->mark = mark;
    for (size_t i = 0; i < node->from_count; i++)
        visit(plan, card, node->from[i], mark);
    add_node(plan, card, node);
}

static void add_graph(struct vf_plan *plan, const struct vf_card *card,
                      CUgraph graph)
{
    unsigned mark = vf_graph_mark(NULL, 0);
    for (size_t i = 0; i < graph->count; i++)
        visit(plan, card, graph->nodes[i], mark);
}

struct vf_plan *vf_plan_make(const struct vf_card *card, CUgraph graph)
{
    struct vf_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return NULL;
    atomic_store(&plan->uses, 1);
    add_graph(plan, card, graph);
    if (!plan->failed)
        return plan;
    vf_plan_drop(plan);
    return NULL;
}

/* ---- launching ----------------------------------------------------------------------- */

struct piece {
    struct vf_plan *plan;
    const struct segment *segment;
};

static void run_steps(void *arg)
{
    struct piece *piece = arg;
    for (size_t i = piece->segment->first; i < piece->segment->last; i++) {
        struct step step = piece->plan->steps[i];
        step.run(&step.args);
    }
    vf_plan_drop(piece->plan);
}

static CUresult launch_work(struct vf_plan *plan, const struct segment *segment,
                            struct CUstream_st *stream)
{
    struct piece piece = {plan, segment};
    struct vf_work work = {
        .command = {.kind = segment->computes ? VF_KERNEL : VF_COPY,
                    .duration_ns = segment->duration_ns}};
    if (segment->first < segment->last) {
        work.command.effect = run_steps;
        work.command.arg = &piece;
        work.command.copy_arg = sizeof piece;
        vf_plan_use(plan);
    }
    CUresult r = vf_submit(stream, &work, NULL);
    if (r && work.command.effect)
        vf_plan_drop(plan);
    return r;
}

static CUresult launch_segment(struct vf_plan *plan,
                               const struct segment *segment,
                               struct CUstream_st *stream)
{
    CUresult r = CUDA_SUCCESS;
    switch (segment->kind) {
    case WORK: return launch_work(plan, segment, stream);
    case HOST:
        return vf_host_call(stream, segment->host.fn, segment->host.userData);
    case RECORD:
        r = vf_event_find(segment->event);
        return r ? r : vf_event_record(segment->event, stream);
    case WAIT:
        r = vf_event_find(segment->event);
        return r ? r : vf_event_wait(segment->event, stream);
    case VALUES:
        for (unsigned i = 0; i < segment->values.count && !r; i++)
            r = vf_value_op(stream, &segment->values.paramArray[i]);
    }
    return r;
}

CUresult vf_plan_launch(struct vf_plan *plan, struct CUstream_st *stream)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < plan->memory_count && !r; i++)
        r = vf_graph_memory_take(plan->memory[i].card, plan->memory[i].at);
    for (size_t i = 0; i < plan->segment_count && !r; i++)
        r = launch_segment(plan, &plan->segments[i], stream);
    return r;
}
