/* Graphs of the simulated driver, and what is made of them to launch. */
#ifndef VXPU_FAKE_GRAPH_H
#define VXPU_FAKE_GRAPH_H

#include "copy.h"
#include "module.h"

#define VF_GRAPH_MAGIC 0x67726170U
#define VF_NODE_MAGIC 0x6e6f6465U
#define VF_EXEC_MAGIC 0x65786563U

struct CUgraphNode_st {
    uint32_t magic;
    CUgraphNodeType type;
    CUgraph graph;             /* that it is in */
    unsigned id;               /* in that graph */
    uint64_t key, origin;      /* its own; that of the node it was cloned from */
    CUgraphNodeParams params;
    struct vf_kernel_args args;
    void *arg_at[4];           /* what params.kernel.kernelParams points to */
    CUgraph child;             /* a clone of its own */
    struct vf_card *card;      /* memory nodes */
    CUgraphNode *from;         /* dependencies */
    size_t from_count;
    bool disabled;
    unsigned mark;             /* of the walk under way */
    CUgraphNode next;          /* free ones */
};

struct CUgraph_st {
    uint32_t magic;
    unsigned id, next_node;
    CUgraphNode *nodes;        /* in the order of their making */
    size_t count, room;
    bool has_memory;           /* allocation or free nodes: no clones */
    bool is_part;              /* a child's clone or an executable's */
    CUgraphExec exec;          /* has_memory: the one executable graph */
    CUgraph next;
};

struct vf_plan;

struct CUgraphExec_st {
    uint32_t magic;
    unsigned id;
    cuuint64_t flags;
    CUgraph body;              /* a clone of the graph */
    CUgraph source;            /* has_memory: where it came from */
    struct vf_plan *plan;      /* NULL: to be made at the next launch */
    CUgraphExec next;
};

/* One lock for all graphs; effects never take it. */
void vf_graph_lock(void);
void vf_graph_unlock(void);

/* Lock held in all of these. */
CUgraph vf_graph_new(void);
void vf_graph_free(CUgraph graph);
CUresult vf_graph_find(CUgraph graph);
CUresult vf_node_find(CUgraphNode node);
CUresult vf_graph_copy(CUgraph graph, CUgraph *out);
CUresult vf_graph_add(CUgraph graph, const CUgraphNode *from, size_t count,
                      CUgraphNodeParams *params, CUgraphNode *out);
CUresult vf_node_destroy(CUgraphNode node);
bool vf_node_link(CUgraphNode node, CUgraphNode from);
void vf_node_unlink(CUgraphNode node, CUgraphNode from);
/* Every node of `targets` and what they depend on gets the answer's mark. */
unsigned vf_graph_mark(CUgraphNode *targets, size_t count);
/* Checks and takes over new parameters for a node of that type. */
CUresult vf_node_set(CUgraphNode node, const CUgraphNodeParams *params);
/* The clone in `graph`, or in its child graphs, of a node. */
CUgraphNode vf_graph_clone_of(CUgraph graph, uint64_t origin);

/* user_object.c: a copy holds what its graph holds, until it is freed. */
void vf_graph_share_objects(CUgraph from, CUgraph to);
void vf_graph_drop_objects(CUgraph graph);

/* graph_plan.c: the graph as commands. Lock held. */
struct vf_plan *vf_plan_make(const struct vf_card *card, CUgraph graph);
void vf_plan_drop(struct vf_plan *plan);
/* No lock held; the caller has a reference. */
CUresult vf_plan_launch(struct vf_plan *plan, struct CUstream_st *stream);
void vf_plan_use(struct vf_plan *plan);

#endif
