/*
 * Events of a whole context. All of a process's work on a card is in few
 * streams here; the event follows the legacy default stream, which waits for
 * all others but the non-blocking ones.
 */
#include "memory.h"

CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxPopCurrent_v2(CUcontext *out);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);

static CUresult record(CUcontext context, CUevent event, bool wait)
{
    CUcontext popped;
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult r = cuCtxPushCurrent_v2(context);
    if (r)
        return r;
    r = wait ? cuStreamWaitEvent(CU_STREAM_LEGACY, event, 0)
             : cuEventRecord(event, CU_STREAM_LEGACY);
    cuCtxPopCurrent_v2(&popped);
    return r;
}

VF_EXPORT CUresult cuCtxRecordEvent(CUcontext context, CUevent event)
{
    CUresult r = vf_enter_context("cuCtxRecordEvent", context, &context);
    return r ? r : record(context, event, false);
}

VF_EXPORT CUresult cuCtxWaitEvent(CUcontext context, CUevent event)
{
    CUresult r = vf_enter_context("cuCtxWaitEvent", context, &context);
    return r ? r : record(context, event, true);
}

CUresult cuCtxFromGreenCtx(CUcontext *out, CUgreenCtx green);

VF_EXPORT CUresult cuGreenCtxRecordEvent(CUgreenCtx green, CUevent event)
{
    CUcontext context;
    CUresult r = cuCtxFromGreenCtx(&context, green);
    return r ? r : record(context, event, false);
}

VF_EXPORT CUresult cuGreenCtxWaitEvent(CUgreenCtx green, CUevent event)
{
    CUcontext context;
    CUresult r = cuCtxFromGreenCtx(&context, green);
    return r ? r : record(context, event, true);
}
