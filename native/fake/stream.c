/* Streams: created ones, the legacy default stream, and one a thread. */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "memory.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUstream_st *free_list;
static unsigned long long last_unique;
static _Atomic(struct CUstream_st *) legacy[VF_CARDS];
static _Thread_local struct {
    uint64_t life;
    struct CUstream_st *stream[VF_CARDS];
} own;
static pthread_key_t at_thread_exit;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

/* ---- making --------------------------------------------------------------- */

static void forget(struct CUstream_st *stream)
{
    atomic_store(&stream->magic, 0);
    vf_lane_close_stream(stream->lane, stream->id);
    pthread_mutex_lock(&list_lock);
    stream->next = free_list;
    free_list = stream;
    pthread_mutex_unlock(&list_lock);
}

static void drop_own(void *unused)
{
    (void)unused;
    for (int i = 0; i < VF_CARDS && own.life == vf_life(); i++)
        if (own.stream[i])
            forget(own.stream[i]);
    memset(&own, 0, sizeof own);
}

static void after_fork(void)
{
    pthread_mutex_init(&list_lock, NULL);
    free_list = NULL;
    for (int i = 0; i < VF_CARDS; i++)
        atomic_store(&legacy[i], NULL);
}

static void prepare(void)
{
    pthread_key_create(&at_thread_exit, drop_own);
    pthread_atfork(NULL, NULL, after_fork);
}

static struct CUstream_st *take_object(void)
{
    pthread_once(&prepared, prepare);
    pthread_mutex_lock(&list_lock);
    struct CUstream_st *stream = free_list;
    if (stream)
        free_list = stream->next;
    unsigned long long unique = ++last_unique;
    pthread_mutex_unlock(&list_lock);
    if (!stream)
        stream = malloc(sizeof *stream);
    if (!stream)
        return NULL;
    memset(stream, 0, sizeof *stream);
    stream->unique = unique;
    stream->policy = CU_SYNC_POLICY_AUTO;
    return stream;
}

static struct CUstream_st *make(struct vf_lane *lane, int id, CUcontext context,
                                unsigned flags, int priority)
{
    struct CUstream_st *stream = id < 0 ? NULL : take_object();
    if (!stream)
        return NULL;
    stream->lane = lane;
    stream->id = id;
    stream->tag = (uint32_t)id;
    if (!(flags & CU_STREAM_NON_BLOCKING))
        stream->tag |= VF_STREAM_BLOCKING;
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    atomic_store(&stream->magic, VF_STREAM_MAGIC);
    return stream;
}

CUresult vf_stream_new(CUcontext context, unsigned flags, int priority,
                       CUstream *out)
{
    struct vf_card *card = vf_context_card(context);
    struct vf_lane *lane = card ? vf_lane(card) : NULL;
    if (!lane)
        return card ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_CONTEXT;
    int id = vf_lane_open_stream(lane, !(flags & CU_STREAM_NON_BLOCKING));
    *out = make(lane, id, context, flags, priority);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- finding ---------------------------------------------------------------- */

static struct CUstream_st *legacy_of(struct vf_lane *lane)
{
    _Atomic(struct CUstream_st *) *at = &legacy[vf_index(lane->card)];
    struct CUstream_st *stream = atomic_load(at), *none = NULL;
    if (stream)
        return stream;
    stream = make(lane, 0, NULL, 0, 0);
    if (stream && !atomic_compare_exchange_strong(at, &none, stream))
        stream = none;
    return stream;
}

static struct CUstream_st *own_of(struct vf_lane *lane)
{
    int at = vf_index(lane->card);
    if (own.life != vf_life()) {
        memset(&own, 0, sizeof own);
        own.life = vf_life();
    }
    if (!own.stream[at]) {
        own.stream[at] = make(lane, vf_lane_open_stream(lane, true), NULL, 0,
                              0);
        pthread_setspecific(at_thread_exit, &own);
    }
    return own.stream[at];
}

static CUresult find_default(bool per_thread, struct CUstream_st **out)
{
    struct vf_card *card;
    CUresult r = vf_current_card(&card);
    if (r)
        return r;
    struct vf_lane *lane = vf_lane(card);
    *out = !lane ? NULL : per_thread ? own_of(lane) : legacy_of(lane);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult vf_stream_find(CUstream handle, enum vf_twin twin,
                        struct CUstream_st **out)
{
    if (handle == VX_STREAM_NULL)
        return find_default(twin == VF_PER_THREAD, out);
    if (handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
        return find_default(handle == CU_STREAM_PER_THREAD, out);
    *out = handle;
    return atomic_load(&handle->magic) == VF_STREAM_MAGIC
               ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult vf_stream_enter(const char *call, CUstream handle, enum vf_twin twin,
                         struct CUstream_st **out)
{
    if (vf_on_host_thread()) /* a host function may not call the driver */
        return CUDA_ERROR_NOT_PERMITTED;
    CUresult r = vf_enter_driver(call);
    return r ? r : vf_stream_find(handle, twin, out);
}

CUresult vf_stream_card(CUstream handle, struct vf_card **card)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_find(handle, VF_LEGACY, &stream);
    if (!r)
        *card = stream->lane->card;
    return r;
}

/* ---- working ------------------------------------------------------------------ */

CUresult vf_submit(struct CUstream_st *stream, const struct vf_work *work,
                   uint64_t *number)
{
    CUresult r = vf_capture_refuses(stream);
    if (r)
        return r;
    vf_checkpoint_gate();
    uint64_t n = vf_lane_put(stream->lane, stream->tag, work);
    if (number)
        *number = n;
    return CUDA_SUCCESS;
}

CUresult vf_enqueue(CUstream handle, enum vf_twin twin,
                    const struct vf_command *command)
{
    struct CUstream_st *stream;
    struct vf_work work = {.command = *command};
    CUresult r = vf_stream_find(handle, twin, &stream);
    return r ? r : vf_submit(stream, &work, NULL);
}

CUresult vf_stream_synchronise(struct CUstream_st *stream)
{
    CUresult r = vf_capture_refuses(stream);
    if (r)
        return r;
    vf_lane_look(stream->lane);
    vf_lane_stream_wait(stream->lane, stream->id);
    vf_pools_synchronised();
    return CUDA_SUCCESS;
}

CUresult vf_stream_wait(CUstream handle, enum vf_twin twin)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_find(handle, twin, &stream);
    return r ? r : vf_stream_synchronise(stream);
}

CUresult vf_card_wait(struct vf_card *card)
{
    struct vf_lane *lane = card ? vf_lane(card) : NULL;
    if (!lane)
        return CUDA_SUCCESS;
    vf_lane_look(lane);
    vf_lane_wait_all(lane, atomic_load(&lane->queue->tail));
    return CUDA_SUCCESS;
}

/* Contexts wait for their work before they go: nothing is left to drop. */
void vf_drop_card_work(struct vf_card *card) { (void)card; }

void vf_query_cost(struct vf_lane *lane)
{
    if (vf_clock_is_virtual())
        vf_spend_ns(vf_knob(lane->card, query_cost_ns));
    vf_lane_look(lane);
}

/* ---- entries --------------------------------------------------------------------- */

static CUresult create(const char *call, CUstream *out, unsigned flags,
                       int priority)
{
    CUcontext context;
    CUresult r = vf_enter(call, &context);
    if (r)
        return r;
    if (!out || flags > CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    r = vf_capture_forbids();
    return r ? r : vf_stream_new(context, flags, priority, out);
}

VF_EXPORT CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
    return create("cuStreamCreate", out, flags, 0);
}

VF_EXPORT CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags,
                                              int priority)
{
    return create("cuStreamCreateWithPriority", out, flags, priority);
}

static CUresult destroy(const char *call, CUstream handle)
{
    struct CUstream_st *stream;
    if ((uintptr_t)handle <= 2)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult r = vf_stream_enter(call, handle, VF_LEGACY, &stream);
    if (r)
        return r;
    vf_capture_abandon(stream);
    forget(stream);
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuStreamDestroy(CUstream stream)
{
    return destroy("cuStreamDestroy", stream);
}

VF_EXPORT CUresult cuStreamDestroy_v2(CUstream stream)
{
    return destroy("cuStreamDestroy", stream);
}

static CUresult synchronise(const char *call, enum vf_twin twin,
                            CUstream handle)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    return r ? r : vf_stream_synchronise(stream);
}

VF_TWINS(cuStreamSynchronize, _ptsz, (CUstream stream), synchronise, stream)

static CUresult query(const char *call, enum vf_twin twin, CUstream handle)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (!r)
        r = vf_capture_refuses(stream);
    if (r)
        return r;
    vf_query_cost(stream->lane);
    return vf_lane_stream_done(stream->lane, stream->id)
               ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

VF_TWINS(cuStreamQuery, _ptsz, (CUstream stream), query, stream)

static CUresult synchronise_context(CUcontext context)
{
    CUcontext found;
    if (vf_on_host_thread())
        return CUDA_ERROR_NOT_PERMITTED;
    CUresult r = vf_enter_context("cuCtxSynchronize", context, &found);
    if (!r)
        r = vf_capture_forbids_sync(found);
    if (r)
        return r;
    r = vf_card_wait(vf_context_card(found));
    vf_pools_synchronised();
    return r;
}

VF_EXPORT CUresult cuCtxSynchronize(void)
{
    return synchronise_context(NULL);
}

VF_EXPORT CUresult cuCtxSynchronize_v2(CUcontext context)
{
    return synchronise_context(context);
}
