/* What capture.c and capture_calls.c share; the graphs' lock is held. */
#ifndef VXPU_FAKE_CAPTURE_PARTS_H
#define VXPU_FAKE_CAPTURE_PARTS_H

#include "capture.h"
#include "graph.h"

struct vf_capture {
    CUgraph graph;
    bool given;   /* the program's own graph (cuStreamBeginCaptureToGraph) */
    bool invalid, ended;
    CUstreamCaptureMode mode;
    const char *thread; /* that began it */
    unsigned long long id;
    unsigned uses;      /* itself, and events recorded in it */
    struct CUstream_st *origin, *members;
    struct vf_capture *next;
};

CUresult vf_capture_start(struct CUstream_st *stream, CUgraph graph,
                          const CUgraphNode *tails, size_t count,
                          CUstreamCaptureMode mode);
void vf_capture_finish(struct vf_capture *capture);
bool vf_capture_is_other_thread(const struct vf_capture *capture);
/* A blocking stream of the lane captures, so the legacy stream may not. */
bool vf_capture_blocks_legacy(const struct vf_lane *lane, bool invalidate);
bool vf_tails_set(CUgraphNode **tails, size_t *tail_count,
                  const CUgraphNode *nodes, size_t count);
bool vf_tails_add(struct CUstream_st *stream, const CUgraphNode *nodes,
                  size_t count);

#endif
