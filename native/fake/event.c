/* Events: a mark in a stream whose time the card writes down. */
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "memory.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUevent_st *free_list;

CUresult vf_event_find(CUevent event)
{
    return event && atomic_load(&event->magic) == VF_EVENT_MAGIC
               ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

void vf_event_use(CUevent event) { atomic_fetch_add(&event->uses, 1); }

void vf_event_drop(CUevent event)
{
    if (atomic_fetch_sub(&event->uses, 1) != 1)
        return;
    pthread_mutex_lock(&list_lock);
    event->next = free_list;
    free_list = event;
    pthread_mutex_unlock(&list_lock);
}

static struct CUevent_st *take_object(void)
{
    pthread_mutex_lock(&list_lock);
    struct CUevent_st *event = free_list;
    if (event)
        free_list = event->next;
    pthread_mutex_unlock(&list_lock);
    if (!event)
        event = malloc(sizeof *event);
    if (event)
        memset(event, 0, sizeof *event);
    return event;
}

/* ---- recording and waiting ------------------------------------------------ */

static void mark_done(void *arg, uint64_t number, uint64_t end_ns)
{
    CUevent event = arg;
    pthread_mutex_lock(&event->lock);
    if (number > event->done_number) {
        event->done_number = number;
        event->end_ns = end_ns;
    }
    pthread_mutex_unlock(&event->lock);
    vf_event_drop(event);
}

CUresult vf_event_record(CUevent event, struct CUstream_st *stream)
{
    struct vf_work work = {.command = {.kind = VF_MARK, .arg = event},
                           .timed = mark_done};
    uint64_t number;
    if (stream->lane != event->lane)
        return CUDA_ERROR_INVALID_HANDLE;
    vf_event_use(event);
    CUresult r = vf_submit(stream, &work, &number);
    if (r) {
        vf_event_drop(event);
        return r;
    }
    vf_capture_forget_event(event);
    pthread_mutex_lock(&event->lock);
    if (number > event->number)
        event->number = number;
    pthread_mutex_unlock(&event->lock);
    return CUDA_SUCCESS;
}

static bool is_done(CUevent event, uint64_t *end_ns, uint64_t *number)
{
    pthread_mutex_lock(&event->lock);
    bool done = event->done_number >= event->number;
    *end_ns = event->end_ns;
    *number = event->number;
    pthread_mutex_unlock(&event->lock);
    return done;
}

/* A mark on another card: seen there without running its effects. */
struct remote {
    struct vf_lane *lane;
    uint64_t number;
};

static bool remote_ready(void *arg)
{
    struct remote *remote = arg;
    struct vf_queue *q = remote->lane->queue;
    vf_advance(remote->lane->card);
    return remote->number <= atomic_load(&q->head) ||
           atomic_load(&q->slots[remote->number % VF_QUEUE].state) == VF_DONE;
}

CUresult vf_event_wait(CUevent event, struct CUstream_st *stream)
{
    uint64_t end_ns, number;
    if (is_done(event, &end_ns, &number))
        return CUDA_SUCCESS;
    struct vf_work work = {.command = {.kind = VF_MARK, .after = number}};
    struct remote remote = {event->lane, number};
    if (event->lane != stream->lane)
        work.command = (struct vf_command){
            .kind = VF_HOST, .ready = remote_ready, .arg = &remote,
            .copy_arg = sizeof remote};
    return vf_submit(stream, &work, NULL);
}

/* ---- entries ----------------------------------------------------------------- */

static CUresult enter(const char *call, CUevent event)
{
    if (vf_on_host_thread())
        return CUDA_ERROR_NOT_PERMITTED;
    CUresult r = vf_enter_driver(call);
    return r ? r : vf_event_find(event);
}

VF_EXPORT CUresult cuEventCreate(CUevent *out, unsigned flags)
{
    CUcontext context;
    CUresult r = vf_enter("cuEventCreate", &context);
    if (r)
        return r;
    bool shared = flags & CU_EVENT_INTERPROCESS;
    if (!out || flags > 7 || (shared && !(flags & CU_EVENT_DISABLE_TIMING)))
        return CUDA_ERROR_INVALID_VALUE;
    struct vf_lane *lane = vf_lane(vf_context_card(context));
    struct CUevent_st *event = lane ? take_object() : NULL;
    if (!event)
        return CUDA_ERROR_OUT_OF_MEMORY;
    event->flags = flags;
    event->context = context;
    event->lane = lane;
    event->uses = 1;
    pthread_mutex_init(&event->lock, NULL);
    atomic_store(&event->magic, VF_EVENT_MAGIC);
    *out = event;
    return CUDA_SUCCESS;
}

static CUresult destroy(CUevent event)
{
    CUresult r = enter("cuEventDestroy", event);
    if (r)
        return r;
    vf_capture_forget_event(event);
    atomic_store(&event->magic, 0);
    vf_event_drop(event);
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuEventDestroy(CUevent event) { return destroy(event); }

VF_EXPORT CUresult cuEventDestroy_v2(CUevent event) { return destroy(event); }

static CUresult record(const char *call, enum vf_twin twin, CUevent event,
                       CUstream handle, unsigned flags)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (!r)
        r = vf_event_find(event);
    if (r)
        return r;
    if (flags > CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    if (!vf_captures(stream))
        return vf_event_record(event, stream);
    if (!flags)
        return vf_capture_record(event, stream);
    CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
                              .eventRecord = {.event = event}};
    vf_capture_node(stream, &node, &r);
    return r;
}

VF_TWINS(cuEventRecord, _ptsz, (CUevent event, CUstream stream), record, event,
         stream, 0)
VF_TWINS(cuEventRecordWithFlags, _ptsz,
         (CUevent event, CUstream stream, unsigned flags), record, event,
         stream, flags)

static CUresult wait_event(const char *call, enum vf_twin twin,
                           CUstream handle, CUevent event, unsigned flags)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (!r)
        r = vf_event_find(event);
    if (r)
        return r;
    if (flags > 1)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags == 1 && vf_captures(stream)) {
        CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
                                  .eventWait = {.event = event}};
        vf_capture_node(stream, &node, &r);
        return r;
    }
    if (event->capture || vf_captures(stream))
        return vf_capture_wait(event, stream);
    return vf_event_wait(event, stream);
}

VF_TWINS(cuStreamWaitEvent, _ptsz,
         (CUstream stream, CUevent event, unsigned flags), wait_event, stream,
         event, flags)

VF_EXPORT CUresult cuEventQuery(CUevent event)
{
    uint64_t end_ns, number;
    CUresult r = enter("cuEventQuery", event);
    if (!r)
        r = vf_capture_event_look(event);
    if (r)
        return r;
    if (is_done(event, &end_ns, &number))
        return CUDA_SUCCESS;
    vf_query_cost(event->lane);
    return is_done(event, &end_ns, &number) ? CUDA_SUCCESS
                                            : CUDA_ERROR_NOT_READY;
}

VF_EXPORT CUresult cuEventSynchronize(CUevent event)
{
    uint64_t end_ns, number;
    CUresult r = enter("cuEventSynchronize", event);
    if (!r)
        r = vf_capture_event_look(event);
    if (r)
        return r;
    if (!is_done(event, &end_ns, &number))
        vf_lane_wait(event->lane, number);
    vf_pools_synchronised();
    return CUDA_SUCCESS;
}

static CUresult elapsed(float *out, CUevent start, CUevent end)
{
    uint64_t from, to, first, last;
    CUresult r = enter("cuEventElapsedTime", start);
    if (!r)
        r = vf_event_find(end);
    if (r)
        return r;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
    vf_lane_look(end->lane);
    bool done = is_done(start, &from, &first) & is_done(end, &to, &last);
    if (!first || !last)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!done)
        return CUDA_ERROR_NOT_READY;
    *out = (float)((double)((int64_t)(to - from)) / 1e6);
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuEventElapsedTime(float *out, CUevent start, CUevent end)
{
    return elapsed(out, start, end);
}

VF_EXPORT CUresult cuEventElapsedTime_v2(float *out, CUevent start, CUevent end)
{
    return elapsed(out, start, end);
}
