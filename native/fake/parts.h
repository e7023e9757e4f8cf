/*
 * What the parts of the simulated driver ask of each other. All of it lives
 * in one process; what processes share is in card.h.
 */
#ifndef VXPU_FAKE_PARTS_H
#define VXPU_FAKE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "card.h"
#include "vxpu/cuda_abi.h"

#include "export.h"

/* ---- init.c ------------------------------------------------------------ */

/* cuInit was done in this process (not in the parent that forked it). */
bool vf_initialised(void);
/* The card of a CUdevice, NULL for an invalid one (CUDA_VISIBLE_DEVICES). */
struct vf_card *vf_device_card(CUdevice device);
/* The CUdevice of a card, -1 when it is not visible. */
CUdevice vf_card_device(const struct vf_card *card);

/* ---- inject.c ----------------------------------------------------------- */

/* True when the next `call` is to fail: with *code (knobs fail_<call>). */
bool vf_inject(const char *call, CUresult *code);

/* ---- context.c ---------------------------------------------------------- */

/*
 * The card of the calling thread's current context. CUDA_ERROR_NOT_INITIALIZED
 * before cuInit, CUDA_ERROR_INVALID_CONTEXT without a current context,
 * CUDA_ERROR_CONTEXT_IS_DESTROYED where it is gone.
 */
CUresult vf_current_card(struct vf_card **card);
/* The current context itself, NULL without one. */
CUcontext vf_current_context(void);
/* NULL for a context that is gone. */
struct vf_card *vf_context_card(CUcontext context);

/* ---- memory.c, managed.c, pool.c, vmm.c --------------------------------- */

/* [at, at + bytes) is one live device or managed allocation of ours. */
bool vf_is_device_range(CUdeviceptr at, size_t bytes);

/* ---- array.c -------------------------------------------------------------- */

struct vf_array_view {
    unsigned char *data;   /* level's first byte */
    size_t width_bytes;    /* of a row */
    size_t height, depth;  /* at least 1 */
};
/* false: no such array. */
bool vf_array_view(CUarray array, struct vf_array_view *view);

/* ---- graph_memory.c -------------------------------------------------------- */

/* A memory node was added: an address, no memory yet. Fills node->dptr. */
CUresult vf_graph_memory_add(struct vf_card *card,
                             CUDA_MEM_ALLOC_NODE_PARAMS *node);
/* Its graph is launched: takes the memory unless it is still held. */
CUresult vf_graph_memory_take(struct vf_card *card, CUdeviceptr at);
/* A free node (or cuMemFree*) was reached: the memory goes back. */
void vf_graph_memory_free(struct vf_card *card, CUdeviceptr at);
/* The node's last owner (graph or executable graph) is gone. */
void vf_graph_memory_drop(struct vf_card *card, CUdeviceptr at);
/* The node was cloned (cuGraphClone, instantiation): one more owner. */
void vf_graph_memory_share(struct vf_card *card, CUdeviceptr at);

/* ---- stream.c ---------------------------------------------------------------- */

struct vf_stream; /* what a CUstream points to; special handles are mapped */

/* Which default stream NULL means at an entry: legacy, or one a thread. */
enum vf_twin { VF_LEGACY, VF_PER_THREAD };

/*
 * One piece of work. `effect` runs in this process, at most once, in order,
 * when the command is done (or when the process looks next); it must not call
 * the driver. `dropped` instead when the context dies first.
 */
struct vf_command {
    enum vf_command_kind kind;
    uint64_t duration_ns;
    void (*effect)(void *arg);
    void *arg;
    size_t copy_arg; /* not 0: that many bytes (<= 96) at `arg` are copied */
    bool (*ready)(void *arg); /* VF_HOST: polled until true */
    bool on_thread;  /* VF_HOST: effect runs on the driver's thread, and the
                        command ends with it; may take its time */
    uint64_t after;  /* number of a command on the same card, or 0 */
};

/*
 * Puts a command at the end of a stream; waits for room in the queue. In a
 * capturing stream: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (callers that can
 * be captured ask vf_capture first).
 */
CUresult vf_enqueue(CUstream stream, enum vf_twin twin,
                    const struct vf_command *command);
/* Waits for all that was enqueued in a stream. */
CUresult vf_stream_wait(CUstream stream, enum vf_twin twin);
/* Waits for all work of this process on a card (cuCtxSynchronize, cuMemFree). */
CUresult vf_card_wait(struct vf_card *card);
/* A stream's card; the current context's for the default streams. */
CUresult vf_stream_card(CUstream stream, struct vf_card **card);
/* The context is destroyed: its streams' work is dropped. */
void vf_drop_card_work(struct vf_card *card);

/* ---- capture.c ---------------------------------------------------------------- */

/* The stream is capturing. */
bool vf_stream_captures(CUstream stream, enum vf_twin twin);
/*
 * For calls that are unsafe while a capture runs (cuMemAlloc and the like):
 * CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED when the thread's capture mode forbids
 * it; the capture is invalidated then.
 */
CUresult vf_capture_forbids(void);
/*
 * Stream-ordered allocation in a capturing stream becomes a node: true when it
 * was captured, with the result in *status.
 */
bool vf_capture_alloc(CUstream stream, enum vf_twin twin,
                      CUDA_MEM_ALLOC_NODE_PARAMS *node, CUresult *status);
bool vf_capture_free(CUstream stream, enum vf_twin twin, CUdeviceptr at,
                     CUresult *status);

#endif
