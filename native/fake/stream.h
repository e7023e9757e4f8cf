/* Streams and events of the simulated driver. */
#ifndef VXPU_FAKE_STREAM_H
#define VXPU_FAKE_STREAM_H

#include "context.h"
#include "lane.h"

#define VF_STREAM_MAGIC 0x7374726dU
#define VF_EVENT_MAGIC 0x65766e74U

struct vf_capture;

/* Never given back to the heap: a stale handle is seen by its magic. */
struct CUstream_st {
    _Atomic uint32_t magic;
    uint32_t tag;             /* number in the lane, VF_STREAM_BLOCKING */
    int id;                   /* number in the lane; 0 the legacy stream */
    struct vf_lane *lane;
    CUcontext context;        /* NULL: a default stream of whichever */
    unsigned flags;
    int priority;
    unsigned long long unique;
    CUaccessPolicyWindow window;
    CUsynchronizationPolicy policy;
    struct vf_capture *_Atomic capture; /* capture.c */
    CUgraphNode *tails;       /* capture.c: what the next node depends on */
    size_t tail_count;
    struct CUstream_st *next; /* free ones; members of a capture */
};

struct CUevent_st {
    _Atomic uint32_t magic;
    unsigned flags;
    CUcontext context;
    struct vf_lane *lane;
    pthread_mutex_t lock;
    uint64_t number;          /* of the last record, 0 never */
    uint64_t done_number;     /* of the last record that is done */
    uint64_t end_ns;
    _Atomic unsigned uses;    /* the program's, and records under way */
    struct vf_capture *capture; /* last recorded in a capture */
    CUgraphNode *tails;
    size_t tail_count;
    struct CUevent_st *next;
};

/* The stream behind a handle; the checks that every call makes. */
CUresult vf_stream_enter(const char *call, CUstream handle, enum vf_twin twin,
                         struct CUstream_st **out);
CUresult vf_stream_find(CUstream handle, enum vf_twin twin,
                        struct CUstream_st **out);
/* Enqueues in a stream that does not capture. */
CUresult vf_submit(struct CUstream_st *stream, const struct vf_work *work,
                   uint64_t *number);
CUresult vf_stream_new(CUcontext context, unsigned flags, int priority,
                       CUstream *out);
CUresult vf_stream_synchronise(struct CUstream_st *stream);
/* Do what the program's next host look costs, and look. */
void vf_query_cost(struct vf_lane *lane);

CUresult vf_event_find(CUevent event);
CUresult vf_event_record(CUevent event, struct CUstream_st *stream);
/* All later work of the stream comes after the event's last record. */
CUresult vf_event_wait(CUevent event, struct CUstream_st *stream);
void vf_event_use(CUevent event);
void vf_event_drop(CUevent event);

bool vf_on_host_thread(void);
CUresult vf_host_call(struct CUstream_st *stream, CUhostFn fn, void *data);
CUresult vf_value_op(struct CUstream_st *stream,
                     const CUstreamBatchMemOpParams *op);

/* `name` on the legacy default stream and `name_suffix` on the thread's. */
#define VF_TWINS(name, suffix, params, body, ...)                     \
    VF_EXPORT CUresult name params                                    \
    {                                                                 \
        return body(#name, VF_LEGACY, __VA_ARGS__);                   \
    }                                                                 \
    VF_EXPORT CUresult name##suffix params                            \
    {                                                                 \
        return body(#name, VF_PER_THREAD, __VA_ARGS__);               \
    }

#endif
