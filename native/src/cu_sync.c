/*
 * Calls at which a program sees that work is done, or ties work to something
 * else. Before a wait the batches end, so that no idle time is in them;
 * behind it they are measured, so that a short process can not leave with its
 * time undebited.
 */
#include "cu_capture.h"
#include "cu_gate.h"
#include "cu_real.h"

#define SYNCHRONISES(name, params, ...)                \
    CUresult name params                               \
    {                                                  \
        vx_gate_before_sync();                         \
        CUresult err = vx_cu()->name(__VA_ARGS__);     \
        vx_gate_after_sync();                          \
        return err;                                    \
    }
SYNCHRONISES(cuCtxSynchronize, (void))
SYNCHRONISES(cuCtxSynchronize_v2, (CUcontext ctx), ctx)
SYNCHRONISES(cuStreamSynchronize, (CUstream stream), stream)
SYNCHRONISES(cuStreamSynchronize_ptsz, (CUstream stream), stream)
SYNCHRONISES(cuEventSynchronize, (CUevent event), event)

/* Asked in a loop while it is not ready: then nothing is to be learnt. */
#define ASKS(name, params, ...)                        \
    CUresult name params                               \
    {                                                  \
        vx_gate_before_sync();                         \
        CUresult err = vx_cu()->name(__VA_ARGS__);     \
        if (err == CUDA_SUCCESS)                       \
            vx_gate_after_sync();                      \
        return err;                                    \
    }
ASKS(cuStreamQuery, (CUstream stream), stream)
ASKS(cuStreamQuery_ptsz, (CUstream stream), stream)
ASKS(cuEventQuery, (CUevent event), event)

/* A batch ends before its stream does; the handle may be another's soon. */
static void stream_goes(CUstream stream)
{
    vx_gate_before_sync();
    vx_flight_free_stream(stream);
    vx_capture_ended(stream);
}

CUresult cuStreamDestroy(CUstream stream)
{
    stream_goes(stream);
    return vx_cu()->cuStreamDestroy(stream);
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    stream_goes(stream);
    return vx_cu()->cuStreamDestroy_v2(stream);
}
