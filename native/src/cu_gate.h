/*
 * The gate that work of a card passes (docs/native.md, "CUDA: compute").
 *
 * The usual launch takes its expected cost from a credit of its thread and
 * goes: no event, no lock, no system call. What is used up, unknown, late or
 * changed goes the long way: measure, wait as the share demands, take a new
 * credit.
 */
#ifndef VXPU_CU_GATE_H
#define VXPU_CU_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "cu_cost.h"
#include "cu_flight.h"
#include "vxpu/cuda_abi.h"

enum { VX_LANES = 4 };

/* One thread's credit in one stream. */
struct vx_lane {
    CUstream stream;
    uint64_t epoch; /* of vx_gate_epoch; 0: no credit */
    int64_t left_ns;
    uint64_t ticks; /* at the last launch */
    uint64_t key;   /* of the first launch */
    uint64_t mixed; /* not 0: of other keys as well */
    uint32_t launches;
    int device;
    int64_t granted_ns;
    uint64_t open_ns, open_ticks;
    struct vx_batch *batch;
    uint64_t serial;
};

extern __thread struct vx_lane vx_lanes[VX_LANES]
    __attribute__((tls_model("initial-exec")));
/* Changes whenever credits given before must not be used any more. */
extern _Atomic uint64_t vx_gate_epoch;

/* Idle time of the thread that may have been idle time of its stream. */
#if defined(VX_TESTING)
#define VX_GAP_TICKS 20000
static inline uint64_t vx_ticks(void)
{
    return vx_now_ns(); /* a simulated card may have its own time */
}
#elif defined(__x86_64__)
#define VX_GAP_TICKS 60000 /* some 20 us */
static inline uint64_t vx_ticks(void)
{
    return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
#define VX_GAP_TICKS 1000 /* 1 us at 1 GHz, 40 us at 25 MHz */
static inline uint64_t vx_ticks(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#else
#define VX_GAP_TICKS 20000
static inline uint64_t vx_ticks(void)
{
    return vx_clock_monotonic_ns();
}
#endif

static inline struct vx_lane *vx_lane_of(CUstream stream)
{
    uintptr_t s = (uintptr_t)stream;
    return &vx_lanes[(s ^ s >> 6 ^ s >> 12) % VX_LANES];
}

/* NULL means the legacy stream, or one a thread in the twins that say so. */
static inline CUstream vx_stream(CUstream stream, bool per_thread)
{
    if (stream)
        return stream;
    return per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

/*
 * True: launch, nothing else to do. False: vx_gate_enter decides; nothing
 * was taken.
 */
static inline bool vx_gate_quick(CUstream stream, uint64_t key)
{
    struct vx_lane *l = vx_lane_of(stream);
    const struct vx_cost *c = vx_cost_at(key);
    uint64_t ticks = vx_ticks();
    int64_t cost = atomic_load_explicit(&c->ns, memory_order_relaxed);
    int64_t left = l->left_ns - cost;
    /* One more must fit behind it, else this one is the last: the long way. */
    if (l->stream != stream || left < cost ||
        l->epoch != atomic_load_explicit(&vx_gate_epoch,
                                         memory_order_relaxed) ||
        atomic_load_explicit(&c->key, memory_order_relaxed) != key ||
        ticks - l->ticks > VX_GAP_TICKS)
        return false;
    l->left_ns = left;
    l->ticks = ticks;
    l->mixed |= l->key ^ key;
    l->launches++;
    return true;
}

/* What vx_gate_leave does after the real call. */
enum vx_turn {
    VX_TURN_FREE, /* nothing: not ours to count */
    VX_TURN_OPEN, /* more may follow on the same credit */
    VX_TURN_LAST  /* the credit is used up: the batch ends here */
};

/*
 * Waits as the share demands. Not CUDA_SUCCESS: refuse with it, do not
 * launch. Its twin after the real call, with what that answered.
 */
CUresult vx_gate_enter(CUstream stream, uint64_t key, enum vx_turn *turn);
void vx_gate_leave(CUstream stream, enum vx_turn turn);

/* Around calls that wait for the card: the work ends before, is seen after. */
void vx_gate_before_sync(void);
void vx_gate_after_sync(void);
/*
 * Before something in a stream that is not the slice's time (an event of
 * another stream, a value of the host): a batch does not reach over it.
 */
void vx_gate_interrupt(CUstream stream);
/* All credits of all threads end: a capture begins, a stream goes. */
void vx_gate_void(void);
/* The thread's current context changes: default streams mean others. */
void vx_gate_leave_context(CUcontext next);
/* The device's context may go. Before the real call. */
void vx_gate_forget_device(int device);

/* Waits at a closed gate (pause) and for the share of copies. */
CUresult vx_gate_copy(CUstream stream, uint64_t bytes);

/* cu_graph.c: an executable graph was changed or destroyed. */
void vx_graph_cost_changed(CUgraphExec exec);

/* Set while a driver's own thread runs a callback of the program. */
extern __thread bool vx_gate_in_callback
    __attribute__((tls_model("initial-exec")));

/* At exit: what is complete is settled; what is not, stays prepaid. */
void vx_gate_last_words(void);
void vx_gate_after_fork(void);

#endif
