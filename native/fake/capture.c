/*
 * Stream capture. A capture is a graph that grows, and the streams that take
 * part in it. What may not be captured invalidates it: until its end every
 * call in its streams answers CUDA_ERROR_STREAM_CAPTURE_INVALIDATED.
 */
#include "capture.h"

#include <stdlib.h>
#include <string.h>

#include "capture_parts.h"

static struct vf_capture *captures; /* the graphs' lock guards all of this */
static _Atomic unsigned count;
static unsigned long long last_id;
static _Thread_local CUstreamCaptureMode thread_mode;
static _Thread_local char this_thread; /* its address says which */

static void after_fork(void)
{
    captures = NULL;
    atomic_store(&count, 0);
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, after_fork); }

static bool none(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed) == 0;
}

/* ---- members ------------------------------------------------------------------ */

bool vf_tails_set(CUgraphNode **tails, size_t *tail_count,
                  const CUgraphNode *nodes, size_t node_count)
{
    CUgraphNode *copy = malloc((node_count + 1) * sizeof *copy);
    if (!copy)
        return false;
    if (node_count)
        memcpy(copy, nodes, node_count * sizeof *copy);
    free(*tails);
    *tails = copy;
    *tail_count = node_count;
    return true;
}

bool vf_tails_add(struct CUstream_st *stream, const CUgraphNode *nodes,
                  size_t node_count)
{
    size_t total = stream->tail_count;
    CUgraphNode *grown = realloc(stream->tails,
                                 (total + node_count + 1) * sizeof *grown);
    if (!grown)
        return false;
    stream->tails = grown;
    for (size_t i = 0; i < node_count; i++) {
        bool there = false;
        for (size_t k = 0; k < total; k++)
            there |= grown[k] == nodes[i];
        if (!there)
            grown[total++] = nodes[i];
    }
    stream->tail_count = total;
    return true;
}

static void join(struct vf_capture *capture, struct CUstream_st *stream)
{
    stream->next = capture->members;
    capture->members = stream;
    atomic_store(&stream->capture, capture);
}

static void leave(struct CUstream_st *stream)
{
    atomic_store(&stream->capture, NULL);
    free(stream->tails);
    stream->tails = NULL;
    stream->tail_count = 0;
}

static void release(struct vf_capture *capture)
{
    if (--capture->uses == 0)
        free(capture);
}

/* The end: its streams are free again. Events may still point to it. */
void vf_capture_finish(struct vf_capture *capture)
{
    struct vf_capture **at = &captures;
    while (capture->members) {
        struct CUstream_st *stream = capture->members;
        capture->members = stream->next;
        leave(stream);
    }
    while (*at && *at != capture)
        at = &(*at)->next;
    if (*at) {
        *at = capture->next;
        atomic_fetch_sub(&count, 1);
    }
    if (capture->invalid && !capture->given)
        vf_graph_free(capture->graph);
    capture->graph = NULL;
    capture->ended = true;
    release(capture);
}

CUresult vf_capture_start(struct CUstream_st *stream, CUgraph graph,
                          const CUgraphNode *tails, size_t tail_count,
                          CUstreamCaptureMode mode)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    struct vf_capture *capture = calloc(1, sizeof *capture);
    if (!capture)
        return CUDA_ERROR_OUT_OF_MEMORY;
    capture->given = graph != NULL;
    capture->graph = graph ? graph : vf_graph_new();
    capture->mode = mode;
    capture->thread = &this_thread;
    capture->origin = stream;
    capture->id = ++last_id;
    capture->uses = 1;
    if (!capture->graph || !vf_tails_set(&stream->tails, &stream->tail_count,
                                         tails, tail_count)) {
        free(capture);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    capture->next = captures;
    captures = capture;
    join(capture, stream);
    atomic_fetch_add(&count, 1);
    return CUDA_SUCCESS;
}

bool vf_capture_is_other_thread(const struct vf_capture *capture)
{
    return capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
           capture->thread != &this_thread;
}

VF_EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUresult r = vf_enter_driver("cuThreadExchangeStreamCaptureMode");
    if (r || !mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

/* ---- what may not happen -------------------------------------------------------- */

bool vf_capture_blocks_legacy(const struct vf_lane *lane, bool invalidate)
{
    bool found = false;
    for (struct vf_capture *c = captures; c; c = c->next)
        for (struct CUstream_st *s = c->members; s; s = s->next)
            if (s->lane == lane && s->tag & VF_STREAM_BLOCKING) {
                found = true;
                c->invalid |= invalidate;
            }
    return found;
}

CUresult vf_capture_refuses(struct CUstream_st *stream)
{
    CUresult r = CUDA_SUCCESS;
    if (none())
        return CUDA_SUCCESS;
    vf_graph_lock();
    struct vf_capture *capture = atomic_load(&stream->capture);
    if (capture) {
        r = capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                             : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        capture->invalid = true;
    } else if (stream->id == 0 &&
               vf_capture_blocks_legacy(stream->lane, true)) {
        r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    vf_graph_unlock();
    return r;
}

/* The rule of modes: whose captures forbid a call that is not safe. */
static bool forbids(const struct vf_capture *c)
{
    bool own = c->thread == &this_thread;
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
        c->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    return own || (thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                   c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult vf_capture_forbids(void)
{
    CUresult r = CUDA_SUCCESS;
    if (none())
        return CUDA_SUCCESS;
    vf_graph_lock();
    for (struct vf_capture *c = captures; c; c = c->next)
        if (forbids(c)) {
            c->invalid = true;
            r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    vf_graph_unlock();
    return r;
}

CUresult vf_capture_forbids_sync(CUcontext context)
{
    CUresult r = CUDA_SUCCESS;
    struct vf_card *card = vf_context_card(context);
    if (none())
        return CUDA_SUCCESS;
    vf_graph_lock();
    for (struct vf_capture *c = captures; c; c = c->next)
        if (c->origin->lane->card == card) {
            c->invalid = true;
            r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    vf_graph_unlock();
    return r;
}

void vf_capture_abandon(struct CUstream_st *stream)
{
    vf_graph_lock();
    struct vf_capture *capture = atomic_load(&stream->capture);
    struct CUstream_st **at = capture ? &capture->members : NULL;
    if (capture) {
        capture->invalid = true;
        while (*at && *at != stream)
            at = &(*at)->next;
        if (*at)
            *at = stream->next;
        leave(stream);
        if (capture->origin == stream)
            vf_capture_finish(capture);
    }
    vf_graph_unlock();
}

/* ---- what becomes a node ----------------------------------------------------------- */

static CUresult append(struct CUstream_st *stream, CUgraphNodeParams *params,
                       CUgraphNode *node)
{
    struct vf_capture *capture = atomic_load(&stream->capture);
    if (!capture || capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    CUresult r = vf_graph_add(capture->graph, stream->tails,
                              stream->tail_count, params, node);
    if (!r && !vf_tails_set(&stream->tails, &stream->tail_count, node, 1))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    return r;
}

bool vf_capture_node(struct CUstream_st *stream,
                     const CUgraphNodeParams *params, CUresult *status)
{
    CUgraphNodeParams copy = *params;
    CUgraphNode node;
    if (!vf_captures(stream))
        return false;
    vf_graph_lock();
    *status = append(stream, &copy, &node);
    vf_graph_unlock();
    return true;
}

static bool capture_memory(CUstream handle, enum vf_twin twin,
                           CUgraphNodeParams *params, CUresult *status)
{
    struct CUstream_st *stream;
    CUgraphNode node;
    if (none() || vf_stream_find(handle, twin, &stream) ||
        !vf_captures(stream))
        return false;
    vf_graph_lock();
    *status = append(stream, params, &node);
    vf_graph_unlock();
    return true;
}

bool vf_capture_alloc(CUstream stream, enum vf_twin twin,
                      CUDA_MEM_ALLOC_NODE_PARAMS *node, CUresult *status)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
                                .alloc = *node};
    bool captured = capture_memory(stream, twin, &params, status);
    if (captured && !*status)
        node->dptr = params.alloc.dptr;
    return captured;
}

bool vf_capture_free(CUstream stream, enum vf_twin twin, CUdeviceptr at,
                     CUresult *status)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE,
                                .free = {.dptr = at}};
    return capture_memory(stream, twin, &params, status);
}

/* ---- events -------------------------------------------------------------------------- */

static void forget(CUevent event)
{
    if (event->capture)
        release(event->capture);
    event->capture = NULL;
    free(event->tails);
    event->tails = NULL;
    event->tail_count = 0;
}

void vf_capture_forget_event(CUevent event)
{
    if (!event->capture)
        return;
    vf_graph_lock();
    forget(event);
    vf_graph_unlock();
}

CUresult vf_capture_record(CUevent event, struct CUstream_st *stream)
{
    CUresult r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    vf_graph_lock();
    struct vf_capture *capture = atomic_load(&stream->capture);
    if (capture && !capture->invalid) {
        forget(event);
        r = vf_tails_set(&event->tails, &event->tail_count, stream->tails,
                         stream->tail_count)
                ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        event->capture = capture;
        capture->uses++;
    }
    vf_graph_unlock();
    return r;
}

static CUresult merge(CUevent event, struct CUstream_st *stream)
{
    struct vf_capture *capture = atomic_load(&stream->capture);
    struct vf_capture *other = event->capture;
    if (other && other->ended)
        other = NULL;
    if (!other) { /* work from before, or from outside, the capture */
        if (capture && event->number)
            capture->invalid = true;
        return capture && event->number ? CUDA_ERROR_STREAM_CAPTURE_ISOLATION
                                        : CUDA_SUCCESS;
    }
    if (capture && capture != other) {
        capture->invalid = other->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (other->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream->id == 0) {
        other->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (!capture)
        join(other, stream);
    return vf_tails_add(stream, event->tails, event->tail_count)
               ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult vf_capture_wait(CUevent event, struct CUstream_st *stream)
{
    vf_graph_lock();
    CUresult r = merge(event, stream);
    bool outside = !r && !vf_captures(stream);
    vf_graph_unlock();
    return outside ? vf_event_wait(event, stream) : r;
}

CUresult vf_capture_event_look(CUevent event)
{
    CUresult r = CUDA_SUCCESS;
    if (!event->capture)
        return CUDA_SUCCESS;
    vf_graph_lock();
    if (event->capture) {
        event->capture->invalid |= !event->capture->ended;
        r = CUDA_ERROR_CAPTURED_EVENT;
    }
    vf_graph_unlock();
    return r;
}
