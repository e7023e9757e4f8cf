/*
 * What a card executes: a queue per process, one process at a time, 2 ms
 * round robin between those with work that can run. Advanced to `now` under
 * the card's lock by whoever looks; nothing here touches a process's own
 * memory, so NVML may advance it too.
 */
#ifndef VXPU_FAKE_ENGINE_H
#define VXPU_FAKE_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct vf_card;

#define VF_QUEUE 1024           /* commands of a process on one card */
#define VF_STREAMS 1024         /* streams of a process on one card */
#define VF_ENGINE_PROCESSES 256 /* = VF_PROCESSES */
#define VF_BUSY_PERIODS 64
#define VF_BUSY_PERIOD_NS 166666667ULL /* as NVML samples: 1/6 s */

enum vf_command_kind {
    VF_KERNEL, /* takes the card for its duration */
    VF_COPY,   /* the same, counted apart */
    VF_MARK,   /* takes no time: event records, barriers, frees */
    VF_HOST    /* ends when the owner says so: host functions, value waits */
};

enum vf_command_state {
    VF_QUEUED,   /* not begun */
    VF_BEGUN,    /* got the card at least once; VF_HOST: the owner's turn */
    VF_RELEASED, /* VF_HOST only: the owner is through, at `end_ns` */
    VF_DONE
};

/* What stream a command is in. Stream 0 is the legacy default stream. */
#define VF_STREAM_MASK 0x3ffU
#define VF_STREAM_BLOCKING 0x10000U /* in order with the legacy stream */

struct vf_slot {
    _Atomic uint32_t state;
    uint32_t kind;
    uint32_t stream;
    uint32_t spare;
    uint64_t after;      /* runs after that command of the same queue; 0 none */
    uint64_t arrival_ns;
    uint64_t left_ns;    /* of its duration */
    uint64_t start_ns;
    _Atomic uint64_t end_ns;
    uint64_t duration_ns;
};

/* Commands head+1 .. tail, numbered from 1; number n lives at n % VF_QUEUE. */
struct vf_queue {
    _Atomic uint64_t tail;      /* owner */
    _Atomic uint64_t head;      /* engine: all up to here are done */
    _Atomic uint64_t retired;   /* owner: slots up to here may be used again */
    _Atomic uint64_t queued_ns; /* owner adds; the engine what is paged in */
    _Atomic uint64_t done_ns;   /* engine adds */
    _Atomic uint64_t busy_ns;   /* device time it got, running total */
    _Atomic uint64_t copied_ns; /* of it, copies */
    _Atomic uint32_t held;      /* last look: nothing can run, host's turn */
    uint32_t spare;
    struct {
        _Atomic uint64_t period; /* time / VF_BUSY_PERIOD_NS */
        _Atomic uint64_t ns;     /* device time in it */
    } busy[VF_BUSY_PERIODS];    /* at period % VF_BUSY_PERIODS */
    struct vf_slot slots[VF_QUEUE];
};

struct vf_engine {
    uint64_t time_ns;      /* all before is decided */
    uint64_t turn_end_ns;  /* of the current process's quantum */
    uint32_t current;      /* index of the process that has the card */
    uint32_t high;         /* entries in use are below */
    uint64_t reaped_ns;    /* when the dead were last looked for */
    _Atomic uint64_t busy_ns; /* running total of all processes */
    struct vf_queue queues[VF_ENGINE_PROCESSES];
};

/* Brings the card up to the folder's now. Takes the lock. */
void vf_advance(struct vf_card *card);
/* The same for one who holds the lock. */
void vf_advance_to(struct vf_card *card, uint64_t now);
/* Device time that process `index` got in [from, to), by whole periods. */
uint64_t vf_busy_between(struct vf_card *card, int index, uint64_t from,
                         uint64_t to);
/* Forgets a process's queue (it is dead or fresh); lock held. */
void vf_queue_clear(struct vf_card *card, int index);
/*
 * The earliest that command `number` of process `index` can end if no one
 * else asks for the card (VF_HOST: can begin); lock held. UINT64_MAX: what is
 * before it waits for its owner.
 */
uint64_t vf_expect_end(struct vf_card *card, int index, uint64_t number);

#endif
