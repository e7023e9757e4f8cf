/*
 * What ties a stream to the host or to another stream: a batch ends before
 * it, since the wait is not the slice's time; and work behind a wait for the
 * host must not be waited for. Host functions run with a mark, so that what
 * they launch is charged and never held.
 */
#include <stdlib.h>

#include "cu_capture.h"
#include "cu_gate.h"
#include "cu_real.h"

static CUstream tie(CUstream stream, bool per_thread, bool to_host)
{
    CUstream s = vx_stream(stream, per_thread);
    if (vx_cu_mode() != VX_LIMIT || vx_gate_in_callback || vx_capture_is_on(s))
        return s;
    vx_gate_interrupt(s);
    if (to_host)
        vx_flight_hold_stream(s);
    return s;
}

#define TIES(name, per_thread, to_host, params, ...) \
    CUresult name params                             \
    {                                                \
        tie(stream, per_thread, to_host);            \
        return vx_cu()->name(__VA_ARGS__);           \
    }
#define TIES_BOTH(name, to_host, params, ...)       \
    TIES(name, false, to_host, params, __VA_ARGS__) \
    TIES(name##_ptsz, true, to_host, params, __VA_ARGS__)

TIES_BOTH(cuStreamWaitEvent, false, (CUstream stream, CUevent e, unsigned f), stream, e, f)
#define VALUE_PARAMS(bits) (CUstream stream, CUdeviceptr p, cuuint##bits##_t v, unsigned f)
TIES_BOTH(cuStreamWaitValue32, true, VALUE_PARAMS(32), stream, p, v, f)
TIES_BOTH(cuStreamWaitValue32_v2, true, VALUE_PARAMS(32), stream, p, v, f)
TIES_BOTH(cuStreamWaitValue64, true, VALUE_PARAMS(64), stream, p, v, f)
TIES_BOTH(cuStreamWaitValue64_v2, true, VALUE_PARAMS(64), stream, p, v, f)
#define OPS_PARAMS (CUstream stream, unsigned n, CUstreamBatchMemOpParams *ops, unsigned f)
TIES_BOTH(cuStreamBatchMemOp, true, OPS_PARAMS, stream, n, ops, f)
TIES_BOTH(cuStreamBatchMemOp_v2, true, OPS_PARAMS, stream, n, ops, f)

struct call {
    CUhostFn host;
    CUstreamCallback stream;
    void *data;
};

static void run_host(void *data)
{
    struct call c = *(struct call *)data;
    free(data);
    vx_gate_in_callback = true;
    c.host(c.data);
    vx_gate_in_callback = false;
}

static void run_callback(CUstream stream, CUresult status, void *data)
{
    struct call c = *(struct call *)data;
    free(data);
    vx_gate_in_callback = true;
    c.stream(stream, status, c.data);
    vx_gate_in_callback = false;
}

/*
 * A captured function may run many times, with each launch of the graph: it
 * stays as it is. NULL: leave this one alone.
 */
static struct call *wrap(CUstream stream, struct call c)
{
    if (vx_cu_mode() != VX_LIMIT || (!c.host && !c.stream) ||
        vx_capture_is_on(stream))
        return NULL;
    struct call *own = malloc(sizeof *own);
    if (own)
        *own = c;
    return own;
}

/* Refused: it will not run. */
static CUresult added(CUresult err, struct call *own)
{
    if (err != CUDA_SUCCESS)
        free(own);
    return err;
}

#define HOST_FUNC(name, per_thread)                                           \
    CUresult name(CUstream stream, CUhostFn fn, void *data)                   \
    {                                                                         \
        CUstream s = tie(stream, per_thread, true);                           \
        struct call *own = wrap(s, (struct call){.host = fn, .data = data});  \
        if (!own)                                                             \
            return vx_cu()->name(stream, fn, data);                           \
        return added(vx_cu()->name(stream, run_host, own), own);              \
    }
HOST_FUNC(cuLaunchHostFunc, false)
HOST_FUNC(cuLaunchHostFunc_ptsz, true)

#define HOST_FUNC_V2(name, per_thread)                                        \
    CUresult name(CUstream stream, CUhostFn fn, void *data, unsigned mode)    \
    {                                                                         \
        CUstream s = tie(stream, per_thread, true);                           \
        struct call *own = wrap(s, (struct call){.host = fn, .data = data});  \
        if (!own)                                                             \
            return vx_cu()->name(stream, fn, data, mode);                     \
        return added(vx_cu()->name(stream, run_host, own, mode), own);        \
    }
HOST_FUNC_V2(cuLaunchHostFunc_v2, false)
HOST_FUNC_V2(cuLaunchHostFunc_v2_ptsz, true)

#define CALLBACK(name, per_thread)                                            \
    CUresult name(CUstream stream, CUstreamCallback fn, void *data,           \
                  unsigned flags)                                             \
    {                                                                         \
        CUstream s = tie(stream, per_thread, true);                           \
        struct call *own = wrap(s, (struct call){.stream = fn, .data = data}); \
        if (!own)                                                             \
            return vx_cu()->name(stream, fn, data, flags);                    \
        return added(vx_cu()->name(stream, run_callback, own, flags), own);   \
    }
CALLBACK(cuStreamAddCallback, false)
CALLBACK(cuStreamAddCallback_ptsz, true)

#define SWITCHES(name, next, params, ...)  \
    CUresult name params                   \
    {                                      \
        vx_gate_leave_context(next);       \
        return vx_cu()->name(__VA_ARGS__); \
    }
SWITCHES(cuCtxSetCurrent, ctx, (CUcontext ctx), ctx)
SWITCHES(cuCtxPushCurrent, ctx, (CUcontext ctx), ctx)
SWITCHES(cuCtxPushCurrent_v2, ctx, (CUcontext ctx), ctx)
SWITCHES(cuCtxPopCurrent, NULL, (CUcontext *out), out)
SWITCHES(cuCtxPopCurrent_v2, NULL, (CUcontext *out), out)
