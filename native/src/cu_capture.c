/* Class J, read only: which streams capture. */
#include "cu_capture.h"

#include <pthread.h>
#include <stdatomic.h>

#include "cu_gate.h"
#include "cu_real.h"

enum { MOST = 32 };

static CUstream capturing[MOST];
static unsigned known;          /* of the above */
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

static void note_begin(CUstream stream)
{
    pthread_mutex_lock(&lock);
    if (known < MOST)
        capturing[known++] = stream;
    atomic_fetch_add(&active, 1);
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

#define END(name, per_thread)                             \
    CUresult name(CUstream stream, CUgraph *graph)        \
    {                                                     \
        CUresult err = vx_cu()->name(stream, graph);      \
        vx_capture_ended(vx_stream(stream, per_thread));  \
        return err;                                       \
    }
END(cuStreamEndCapture, false)
END(cuStreamEndCapture_ptsz, true)

void vx_capture_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    known = 0;
    atomic_store(&active, 0);
}
