/* Recording a stream's calls as a graph, and what may not happen meanwhile. */
#ifndef VXPU_FAKE_CAPTURE_H
#define VXPU_FAKE_CAPTURE_H

#include "stream.h"

/* The stream takes part in a capture (that may be invalid by now). */
static inline bool vf_captures(const struct CUstream_st *stream)
{
    return atomic_load_explicit(&stream->capture, memory_order_acquire) !=
           NULL;
}

/*
 * For what is no captured work: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED in a
 * capturing stream, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT in the legacy stream
 * while a blocking stream captures. The capture is invalidated.
 */
CUresult vf_capture_refuses(struct CUstream_st *stream);
/* The same for a synchronisation with a whole context. */
CUresult vf_capture_forbids_sync(CUcontext context);
/* The stream is destroyed: its capture is invalidated. */
void vf_capture_abandon(struct CUstream_st *stream);

/*
 * Work in a capturing stream becomes a node behind the stream's last ones:
 * true when the stream captures, with the result in *status.
 */
bool vf_capture_node(struct CUstream_st *stream, const CUgraphNodeParams *node,
                     CUresult *status);
/* An event recorded in, or waited for by, a capturing stream. */
CUresult vf_capture_record(CUevent event, struct CUstream_st *stream);
CUresult vf_capture_wait(CUevent event, struct CUstream_st *stream);
/* The event was last recorded in a capture: its look invalidates that. */
CUresult vf_capture_event_look(CUevent event);
void vf_capture_forget_event(CUevent event);

#endif
