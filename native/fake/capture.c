#include "capture.h"

CUresult vf_capture_refuses(struct CUstream_st *stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}
CUresult vf_capture_forbids_sync(CUcontext context)
{
    (void)context;
    return CUDA_SUCCESS;
}
CUresult vf_capture_forbids(void) { return CUDA_SUCCESS; }
void vf_capture_abandon(struct CUstream_st *stream) { (void)stream; }
bool vf_capture_node(struct CUstream_st *stream, const CUgraphNodeParams *node,
                     CUresult *status)
{
    (void)stream, (void)node, (void)status;
    return false;
}
CUresult vf_capture_record(CUevent event, struct CUstream_st *stream)
{
    return vf_event_record(event, stream);
}
CUresult vf_capture_wait(CUevent event, struct CUstream_st *stream)
{
    return vf_event_wait(event, stream);
}
CUresult vf_capture_event_look(CUevent event)
{
    (void)event;
    return CUDA_SUCCESS;
}
void vf_capture_forget_event(CUevent event) { (void)event; }
bool vf_stream_captures(CUstream stream, enum vf_twin twin)
{
    (void)stream, (void)twin;
    return false;
}
bool vf_capture_alloc(CUstream stream, enum vf_twin twin,
                      CUDA_MEM_ALLOC_NODE_PARAMS *node, CUresult *status)
{
    (void)stream, (void)twin, (void)node, (void)status;
    return false;
}
bool vf_capture_free(CUstream stream, enum vf_twin twin, CUdeviceptr at,
                     CUresult *status)
{
    (void)stream, (void)twin, (void)at, (void)status;
    return false;
}
