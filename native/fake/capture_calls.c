/* The entries of stream capture. */
#include "capture_parts.h"

static CUresult begin(const char *call, enum vf_twin twin, CUstream handle,
                      CUgraph graph, const CUgraphNode *from, size_t count,
                      CUstreamCaptureMode mode)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (r)
        return r;
    if (mode > CU_STREAM_CAPTURE_MODE_RELAXED || (count && !from))
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->id == 0)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    vf_graph_lock();
    for (size_t i = 0; i < count && !r; i++)
        if (vf_node_find(from[i]) || from[i]->graph != graph)
            r = CUDA_ERROR_INVALID_VALUE;
    if (!r && vf_captures(stream))
        r = CUDA_ERROR_ILLEGAL_STATE;
    if (!r)
        r = vf_capture_start(stream, graph, from, count, mode);
    vf_graph_unlock();
    return r;
}

#define BEGIN_V1(name, twin)                                              \
    VF_EXPORT CUresult name(CUstream stream)                              \
    {                                                                     \
        return begin("cuStreamBeginCapture", twin, stream, NULL, NULL, 0, \
                     CU_STREAM_CAPTURE_MODE_GLOBAL);                      \
    }
#define BEGIN_V2(name, twin)                                              \
    VF_EXPORT CUresult name(CUstream stream, CUstreamCaptureMode mode)    \
    {                                                                     \
        return begin("cuStreamBeginCapture", twin, stream, NULL, NULL, 0, \
                     mode);                                               \
    }
BEGIN_V1(cuStreamBeginCapture, VF_LEGACY)
BEGIN_V1(cuStreamBeginCapture_ptsz, VF_PER_THREAD)
BEGIN_V2(cuStreamBeginCapture_v2, VF_LEGACY)
BEGIN_V2(cuStreamBeginCapture_v2_ptsz, VF_PER_THREAD)

static CUresult begin_to(const char *call, enum vf_twin twin, CUstream stream,
                         CUgraph graph, const CUgraphNode *from,
                         const CUgraphEdgeData *edges, size_t count,
                         CUstreamCaptureMode mode)
{
    CUresult r = vf_graph_find(graph);
    (void)edges;
    return r ? r : begin(call, twin, stream, graph, from, count, mode);
}

VF_TWINS(cuStreamBeginCaptureToGraph, _ptsz,
         (CUstream stream, CUgraph graph, const CUgraphNode *from,
          const CUgraphEdgeData *edges, size_t count,
          CUstreamCaptureMode mode),
         begin_to, stream, graph, from, edges, count, mode)

/* ---- end -------------------------------------------------------------------- */

/* All that other streams did is before the origin's last nodes. */
static bool is_joined(struct vf_capture *capture)
{
    unsigned mark = vf_graph_mark(capture->origin->tails,
                                  capture->origin->tail_count);
    for (struct CUstream_st *s = capture->members; s; s = s->next)
        for (size_t i = 0; i < s->tail_count; i++)
            if (s->tails[i]->mark != mark)
                return false;
    return true;
}

static CUresult finish(struct CUstream_st *stream, CUgraph *graph)
{
    struct vf_capture *capture = atomic_load(&stream->capture);
    *graph = NULL;
    if (!capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream) {
        capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    if (vf_capture_is_other_thread(capture))
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    CUresult r = CUDA_SUCCESS;
    if (capture->invalid)
        r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!is_joined(capture))
        r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    capture->invalid = r != CUDA_SUCCESS;
    if (!r)
        *graph = capture->graph;
    vf_capture_finish(capture);
    return r;
}

static CUresult end(const char *call, enum vf_twin twin, CUstream handle,
                    CUgraph *graph)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (r || !graph)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    r = finish(stream, graph);
    vf_graph_unlock();
    return r;
}

VF_TWINS(cuStreamEndCapture, _ptsz, (CUstream stream, CUgraph *graph), end,
         stream, graph)

bool vf_stream_captures(CUstream handle, enum vf_twin twin)
{
    struct CUstream_st *stream;
    return !vf_stream_find(handle, twin, &stream) && vf_captures(stream);
}

/* ---- state --------------------------------------------------------------------- */

struct state {
    CUstreamCaptureStatus status;
    cuuint64_t id;
    CUgraph graph;
    const CUgraphNode *tails;
    size_t count;
};

static CUresult look(const char *call, enum vf_twin twin, CUstream handle,
                     struct state *state)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (r)
        return r;
    *state = (struct state){.status = CU_STREAM_CAPTURE_STATUS_NONE};
    vf_graph_lock();
    struct vf_capture *capture = atomic_load(&stream->capture);
    if (stream->id == 0 && vf_capture_blocks_legacy(stream->lane, false))
        r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (capture && capture->invalid)
        state->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    else if (capture)
        *state = (struct state){CU_STREAM_CAPTURE_STATUS_ACTIVE, capture->id,
                                capture->graph, stream->tails,
                                stream->tail_count};
    vf_graph_unlock();
    return r;
}

static CUresult is_capturing(const char *call, enum vf_twin twin,
                             CUstream stream, CUstreamCaptureStatus *status)
{
    struct state state;
    CUresult r = status ? look(call, twin, stream, &state)
                        : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *status = state.status;
    return r;
}

VF_TWINS(cuStreamIsCapturing, _ptsz,
         (CUstream stream, CUstreamCaptureStatus *status), is_capturing, stream,
         status)

static CUresult info(const char *call, enum vf_twin twin, CUstream stream,
                     CUstreamCaptureStatus *status, cuuint64_t *id,
                     CUgraph *graph, const CUgraphNode **tails,
                     const CUgraphEdgeData **edges, size_t *count)
{
    struct state state;
    CUresult r = status ? look(call, twin, stream, &state)
                        : CUDA_ERROR_INVALID_VALUE;
    if (r)
        return r;
    *status = state.status;
    if (state.status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return CUDA_SUCCESS;
    if (id)
        *id = state.id;
    if (graph)
        *graph = state.graph;
    if (tails)
        *tails = state.tails;
    if (edges)
        *edges = NULL; /* all edges are plain */
    if (count)
        *count = state.count;
    return CUDA_SUCCESS;
}

VF_TWINS(cuStreamGetCaptureInfo, _ptsz,
         (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id),
         info, stream, status, id, NULL, NULL, NULL, NULL)

#define INFO_V2(name, twin)                                                 \
    VF_EXPORT CUresult name(CUstream stream, CUstreamCaptureStatus *status, \
                            cuuint64_t *id, CUgraph *graph,                 \
                            const CUgraphNode **tails, size_t *count)       \
    {                                                                       \
        return info("cuStreamGetCaptureInfo", twin, stream, status, id,     \
                    graph, tails, NULL, count);                             \
    }
#define INFO_V3(name, twin)                                                 \
    VF_EXPORT CUresult name(CUstream stream, CUstreamCaptureStatus *status, \
                            cuuint64_t *id, CUgraph *graph,                 \
                            const CUgraphNode **tails,                      \
                            const CUgraphEdgeData **edges, size_t *count)   \
    {                                                                       \
        return info("cuStreamGetCaptureInfo", twin, stream, status, id,     \
                    graph, tails, edges, count);                            \
    }
INFO_V2(cuStreamGetCaptureInfo_v2, VF_LEGACY)
INFO_V2(cuStreamGetCaptureInfo_v2_ptsz, VF_PER_THREAD)
INFO_V3(cuStreamGetCaptureInfo_v3, VF_LEGACY)
INFO_V3(cuStreamGetCaptureInfo_v3_ptsz, VF_PER_THREAD)

static CUresult renew(const char *call, enum vf_twin twin, CUstream handle,
                      CUgraphNode *nodes, size_t count, unsigned flags)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (r || flags > 1 || (count && !nodes))
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    vf_graph_lock();
    struct vf_capture *capture = atomic_load(&stream->capture);
    if (!capture)
        r = CUDA_ERROR_ILLEGAL_STATE;
    else if (capture->invalid)
        r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    for (size_t i = 0; i < count && !r; i++)
        if (vf_node_find(nodes[i]) || nodes[i]->graph != capture->graph)
            r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !(flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES
                    ? vf_tails_set(&stream->tails, &stream->tail_count, nodes,
                                   count)
                    : vf_tails_add(stream, nodes, count)))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    vf_graph_unlock();
    return r;
}

VF_TWINS(cuStreamUpdateCaptureDependencies, _ptsz,
         (CUstream stream, CUgraphNode *nodes, size_t count, unsigned flags),
         renew, stream, nodes, count, flags)

#define RENEW_V2(name, twin)                                                \
    VF_EXPORT CUresult name(CUstream stream, CUgraphNode *nodes,            \
                            const CUgraphEdgeData *edges, size_t count,     \
                            unsigned flags)                                 \
    {                                                                       \
        (void)edges;                                                        \
        return renew("cuStreamUpdateCaptureDependencies", twin, stream,     \
                     nodes, count, flags);                                  \
    }
RENEW_V2(cuStreamUpdateCaptureDependencies_v2, VF_LEGACY)
RENEW_V2(cuStreamUpdateCaptureDependencies_v2_ptsz, VF_PER_THREAD)
