/* Class J, read only: which streams capture. */
#include "cu_capture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "cu_gate.h"
#include "cu_real.h"

static CUstream *capturing;
static unsigned known, places;  /* of the above */
static _Atomic unsigned active; /* captures begun and not seen to end */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool vx_capture_any(void)
{
    return atomic_load_explicit(&active, memory_order_relaxed) != 0;
}

bool vx_capture_is_on(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!vx_capture_any())
        return false;
    /* Any error means: it can not be asked while another captures. */
    return vx_cu()->cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void vx_capture_relax(int *mode)
{
    CUstreamCaptureMode m = CU_STREAM_CAPTURE_MODE_RELAXED;
    *mode = -1;
    if (vx_capture_any() &&
        vx_cu()->cuThreadExchangeStreamCaptureMode(&m) == CUDA_SUCCESS)
        *mode = (int)m;
}

void vx_capture_restore(const int *mode)
{
    CUstreamCaptureMode m = (CUstreamCaptureMode)*mode;
    if (*mode >= 0)
        vx_cu()->cuThreadExchangeStreamCaptureMode(&m);
}

/* One that went with its context was never seen to end. */
static bool is_listed(CUstream stream)
{
    for (unsigned i = 0; i < known; i++)
        if (capturing[i] == stream)
            return true;
    return false;
}

static bool has_place(void)
{
    if (known < places)
        return true;
    unsigned more = places ? 2 * places : 32;
    CUstream *list = realloc(capturing, more * sizeof *list);
    if (!list) {
        atomic_fetch_add(&active, 1); /* for ever: the driver is asked */
        return false;
    }
    capturing = list;
    places = more;
    return true;
}

static void note_begin(CUstream stream)
{
    pthread_mutex_lock(&lock);
    if (!is_listed(stream) && has_place()) {
        capturing[known++] = stream;
        atomic_fetch_add(&active, 1);
    }
    pthread_mutex_unlock(&lock);
}

void vx_capture_ended(CUstream stream)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < known; i++) {
        if (capturing[i] != stream)
            continue;
        capturing[i] = capturing[--known];
        atomic_fetch_sub(&active, 1);
        break;
    }
    pthread_mutex_unlock(&lock);
}

/* What was launched before is measured first: afterwards no event may be. */
static void prepare(void)
{
    if (vx_cu_mode() == VX_LIMIT && !vx_gate_in_callback)
        vx_gate_void();
}

static CUresult begun(CUstream stream, CUresult err)
{
    if (err == CUDA_SUCCESS)
        note_begin(stream);
    /* A credit that was taken in between must not be used any more. */
    if (err == CUDA_SUCCESS)
        atomic_fetch_add(&vx_gate_epoch, 1);
    return err;
}

#define BEGIN(name, per_thread, params, ...)                                  \
    CUresult name params                                                      \
    {                                                                         \
        prepare();                                                            \
        return begun(vx_stream(stream, per_thread), vx_cu()->name(__VA_ARGS__)); \
    }

BEGIN(cuStreamBeginCapture, false, (CUstream stream), stream)
BEGIN(cuStreamBeginCapture_ptsz, true, (CUstream stream), stream)
BEGIN(cuStreamBeginCapture_v2, false,
      (CUstream stream, CUstreamCaptureMode mode), stream, mode)
BEGIN(cuStreamBeginCapture_v2_ptsz, true,
      (CUstream stream, CUstreamCaptureMode mode), stream, mode)

#define TO_GRAPH_PARAMS                                              \
    (CUstream stream, CUgraph graph, const CUgraphNode *nodes,       \
     const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode)
BEGIN(cuStreamBeginCaptureToGraph, false, TO_GRAPH_PARAMS, stream, graph,
      nodes, edges, count, mode)
BEGIN(cuStreamBeginCaptureToGraph_ptsz, true, TO_GRAPH_PARAMS, stream, graph,
      nodes, edges, count, mode)

#define RECAPTURE_PARAMS                                             \
    (CUstream stream, CUstreamCaptureMode mode, CUgraph graph,       \
     CUgraphRecaptureCallback callback, void *data)
BEGIN(cuStreamBeginRecaptureToGraph, false, RECAPTURE_PARAMS, stream, mode,
      graph, callback, data)
BEGIN(cuStreamBeginRecaptureToGraph_ptsz, true, RECAPTURE_PARAMS, stream, mode,
      graph, callback, data)
BEGIN(cuStreamBeginCaptureToCig, false,
      (CUstream stream, CUstreamCigCaptureParams *params), stream, params)
BEGIN(cuStreamBeginCaptureToCig_ptsz, true,
      (CUstream stream, CUstreamCigCaptureParams *params), stream, params)

/* The wrong thread's end, for one, is refused and ends nothing. */
static CUresult ended(CUstream stream, CUresult err)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (err == CUDA_SUCCESS || !vx_capture_any() ||
        vx_cu()->cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
        status == CU_STREAM_CAPTURE_STATUS_NONE)
        vx_capture_ended(stream);
    return err;
}

#define END(name, per_thread)                             \
    CUresult name(CUstream stream, CUgraph *graph)        \
    {                                                     \
        return ended(vx_stream(stream, per_thread),       \
                     vx_cu()->name(stream, graph));       \
    }
END(cuStreamEndCapture, false)
END(cuStreamEndCapture_ptsz, true)

CUresult cuStreamEndCaptureToCig(CUstream stream)
{
    return ended(vx_stream(stream, false),
                 vx_cu()->cuStreamEndCaptureToCig(stream));
}

CUresult cuStreamEndCaptureToCig_ptsz(CUstream stream)
{
    return ended(vx_stream(stream, true),
                 vx_cu()->cuStreamEndCaptureToCig_ptsz(stream));
}

void vx_capture_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    known = 0;
    atomic_store(&active, 0);
}
