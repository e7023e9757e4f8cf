/*
 * A simulated card: one file that every process of the folder maps. There is
 * no server: whoever looks at the card brings it up to date, under its lock.
 * Any process may die at any point; the others repair and go on.
 */
#ifndef VXPU_FAKE_CARD_H
#define VXPU_FAKE_CARD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "clock.h"
#include "engine.h"
#include "memory_state.h"
#include "nvml_state.h"

#define VF_MAGIC 0x3144524143465856ULL /* "VXFCARD1" in file order */
#define VF_VERSION 1
#define VF_CARDS 16          /* vxpu-fake0 .. vxpu-fake15 */
#define VF_PROCESSES 256     /* that may use one card at a time */
#define VF_CARD_NAME "vxpu-fake"

enum vf_knob {
#define VF_KNOB(name, default_value) VF_KNOB_##name,
#include "knobs.def"
    VF_KNOB_COUNT
};
#define VF_KNOB_ROOM 512

struct vf_identity {
    uint8_t uuid[16];      /* as in CUuuid.bytes and "GPU-xxxxxxxx-..." */
    char name[96];         /* always says "Simulated" */
    uint64_t index;        /* number in the folder */
    uint64_t seed;
    uint64_t sms;
    uint64_t memory_bytes; /* physical memory */
    uint32_t pci_domain, pci_bus, pci_device, pci_function;
    char serial[32];
};

enum vf_process_state { VF_FREE = 0, VF_LIVE = 1 };

/*
 * One process on one card. It holds a POSIX write lock on byte = its index of
 * the card file for as long as it lives; the kernel drops the lock at any
 * death. Fields are written under the card's lock.
 */
struct vf_process {
    _Atomic uint32_t state;     /* enum vf_process_state */
    int32_t pid;                /* in the namespace of the process itself */
    uint64_t start_ns;          /* CLOCK_REALTIME of its registration */
    uint64_t pid_ns;            /* inode of that namespace, 0 if unreadable */
    char name[64];              /* /proc/self/comm, for NVML's names */
    _Atomic uint64_t memory_bytes; /* physical memory taken, all kinds */
    _Atomic uint32_t contexts;  /* live contexts (memory.c's owner counts) */
    _Atomic uint32_t generation; /* how often this entry was given out */
};

struct vf_card {
    uint64_t magic;             /* written last by create */
    uint32_t version;
    uint32_t bytes;             /* sizeof(struct vf_card) */
    struct vf_identity identity;
    pthread_mutex_t lock;       /* robust, shared between processes */
    _Atomic uint64_t memory_used; /* sum over processes */
    _Atomic uint64_t knobs[VF_KNOB_ROOM];
    struct vf_process processes[VF_PROCESSES];
    struct vf_memory memory;    /* owner: memory.c */
    struct vf_nvml nvml;        /* owner: nvml_*.c */
    struct vf_engine engine;    /* owner: engine.c */
};

/* ---- finding cards ---------------------------------------------------- */

/* Cards whose file this process may open, in order of their number. */
int vf_count(void);
/* 0 <= physical < vf_count(); NULL for any other. Mapped for good. */
struct vf_card *vf_card(int physical);
/* The place of a card among vf_count(). */
int vf_index(const struct vf_card *card);
/* $VXPU_FAKE_DIR, or /dev. */
const char *vf_folder(void);
/* Opens for life, at a number that programs do not use; -1. */
int vf_open_high(const char *path);
/* Makes one card file of `identity` in `folder`: 0 or -errno. */
int vf_create(const char *folder, const struct vf_identity *identity);

/* ---- processes -------------------------------------------------------- */

/* This process's entry; registers it at its first use. NULL: all taken. */
struct vf_process *vf_self(struct vf_card *card);
/* Its index, or -1 while it is not registered. */
int vf_self_index(const struct vf_card *card);
/*
 * The pid of a living entry as the caller's own pid namespace sees it, 0 when
 * it lives where the caller can not see it, -1 when it is free or dead.
 */
pid_t vf_process_pid(struct vf_card *card, int index);
/* Frees what dead processes held: memory, queue, entry. Takes the lock. */
void vf_reap(struct vf_card *card);
/* The same for who holds the lock; at most once in VF_REAP_NS of card time. */
#define VF_REAP_NS 2000000
void vf_reap_due(struct vf_card *card, uint64_t now);
/* 1 in the first process, one more in each fork: compare to notice a fork. */
uint64_t vf_life(void);

/* ---- memory: counts only, per process and card ------------------------- */

bool vf_mem_take(struct vf_card *card, uint64_t bytes);
void vf_mem_give(struct vf_card *card, uint64_t bytes);

/* ---- the card's lock ---------------------------------------------------- */

/* Short and never asleep inside. A holder's death is repaired by the next. */
void vf_lock(struct vf_card *card);
void vf_unlock(struct vf_card *card);

/* ---- knobs --------------------------------------------------------------- */

#define vf_knob(card, name) \
    atomic_load_explicit(&(card)->knobs[VF_KNOB_##name], memory_order_relaxed)
#define vf_knob_set(card, name, value) \
    atomic_store(&(card)->knobs[VF_KNOB_##name], (uint64_t)(value))
/* By name: -1 unknown. */
int vf_knob_find(const char *name);
const char *vf_knob_name(int knob);
uint64_t vf_knob_default(int knob);

#endif
