/*
 * A process's side of its queue on one card: what commands do here when they
 * are done, and waiting for them. The queue itself is in the card.
 */
#ifndef VXPU_FAKE_LANE_H
#define VXPU_FAKE_LANE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "parts.h"

#define VF_ARG_BYTES 96 /* of an effect's argument that are kept by value */

/* What to do here when a command is done. */
struct vf_effect {
    void (*effect)(void *arg);
    void (*timed)(void *arg, uint64_t number, uint64_t end_ns);
    bool (*ready)(void *arg);
    void *arg;
    bool on_thread;
    _Atomic bool retired; /* effect is through */
    _Alignas(16) unsigned char kept[VF_ARG_BYTES];
};

struct vf_lane {
    struct vf_card *card;
    struct vf_queue *queue;
    int index;
    pthread_mutex_t lock;        /* tail, stream ids */
    pthread_mutex_t retire_lock; /* effects run under it, in order */
    uint64_t tail;
    _Atomic uint64_t hosts;      /* VF_HOST commands not yet retired */
    uint32_t next_stream;
    struct vf_stream_slot {
        bool used, blocking;
        _Atomic uint64_t last;   /* number of its last command, 0 none */
    } streams[VF_STREAMS];
    struct vf_effect effects[VF_QUEUE];
};

/* This process's lane on a card; NULL when the card has no entry left. */
struct vf_lane *vf_lane(struct vf_card *card);

/* An internal command: as parts.h has it, or with its end time. */
struct vf_work {
    struct vf_command command;
    void (*timed)(void *arg, uint64_t number, uint64_t end_ns);
};

/* Enqueues; waits for room; answers the command's number. */
uint64_t vf_lane_put(struct vf_lane *lane, uint32_t stream,
                     const struct vf_work *work);
/* Brings the card up to now and runs what became due here. */
void vf_lane_look(struct vf_lane *lane);
bool vf_lane_is_done(struct vf_lane *lane, uint64_t number);
void vf_lane_wait(struct vf_lane *lane, uint64_t number);
/* All commands up to `number`, whatever their stream. */
void vf_lane_wait_all(struct vf_lane *lane, uint64_t number);
bool vf_lane_all_done(struct vf_lane *lane, uint64_t number);

/* A stream's number in the queue; -1: none left. */
int vf_lane_open_stream(struct vf_lane *lane, bool blocking);
void vf_lane_close_stream(struct vf_lane *lane, int id);
/* The last command that a synchronisation with the stream waits for is done. */
bool vf_lane_stream_done(struct vf_lane *lane, int id);
void vf_lane_stream_wait(struct vf_lane *lane, int id);

/* host_thread.c: the driver's own thread; runs what is on_thread. */
void vf_host_thread_call(struct vf_lane *lane, uint64_t number);
/* VF_HOST: its owner is through with it. */
void vf_lane_release(struct vf_lane *lane, uint64_t number);

#endif
