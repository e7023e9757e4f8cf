/*
 * The part of a card that NVML owns (nvml_*.c, mig.c), with what a process is
 * to NVML, to MIG and to a checkpoint. Written under the card's lock.
 */
#ifndef VXPU_FAKE_NVML_STATE_H
#define VXPU_FAKE_NVML_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct vf_card;

enum {
    VF_MIG_MEMORY_SLICES = 8,
    VF_MIG_SLICES = 7,
    VF_MEMORY_LIMITS = 32,
    VF_ACCOUNTS = 64,
    VF_FAULTS = 32,
    VF_NVML_PROCESSES = 256 /* = VF_PROCESSES */
};

struct vf_compute_instance {
    uint32_t used, id, profile, start, slices;
};

struct vf_gpu_instance {
    uint32_t used, id, profile;
    uint32_t start, memory_slices; /* its placement */
    uint32_t slices;               /* of compute */
    struct vf_compute_instance compute[VF_MIG_SLICES];
};

/* A cgroup's limit on device memory (driver 615 and later). */
struct vf_memory_limit {
    uint32_t used, spare;
    uint64_t soft, hard;
    char path[240]; /* below the cgroup root, "/a/b" */
};

/* What is known of a process that used the card, also after its end. */
struct vf_account {
    uint32_t used, running;
    int32_t pid;
    uint32_t spare;
    uint64_t start_ns;   /* CLOCK_REALTIME */
    uint64_t wall_ns;    /* of the card's time */
    uint64_t busy_ns;
    uint64_t peak_bytes;
};

struct vf_nvml_process {
    uint32_t instance;   /* 1 + index of its GPU instance, 0 without MIG */
    uint32_t compute;    /* 1 + index of its compute instance in it */
    uint32_t limit;      /* 1 + index of its cgroup's limit, 0 none */
    _Atomic uint32_t state; /* CUprocessState */
    _Atomic int32_t shared; /* managed memory, and what others have a part in */
    uint64_t peak_bytes;
    uint64_t away_bytes; /* checkpointed: not on the card */
    uint64_t since_ns;   /* the card's time at its registration */
};

/* The next `left` calls of that name answer `code`. */
struct vf_fault {
    _Atomic uint32_t left;
    uint32_t code;
    char call[56];
};

struct vf_nvml {
    _Atomic uint32_t mig_mode, mig_pending;
    struct vf_gpu_instance instances[VF_MIG_SLICES];
    struct vf_memory_limit limits[VF_MEMORY_LIMITS];
    struct vf_account accounts[VF_ACCOUNTS];
    uint32_t next_account;
    struct {
        uint64_t period, ns; /* what the dead got in it */
    } gone[64];              /* = VF_BUSY_PERIODS, at period % 64 */
    _Atomic uint32_t faults_armed;
    struct vf_fault faults[VF_FAULTS];
    struct vf_nvml_process processes[VF_NVML_PROCESSES];
};

/* ---- account.c: called by the owners of processes and memory ----------- */

/* Entry `index` was given to this process; the card's lock is held. */
void vf_nvml_begin(struct vf_card *card, int index);
/* Entry `index` ended; its queue and memory are still there. Lock held. */
void vf_nvml_end(struct vf_card *card, int index);
/*
 * May process `index` take that much more, by its MIG instance and its
 * cgroup's limit? Lock held; notes the peak.
 */
bool vf_nvml_room(struct vf_card *card, int index, uint64_t bytes);
/* Sleeps while a checkpoint has locked this process (on any card). */
void vf_checkpoint_wait(struct vf_card *card);
void vf_checkpoint_gate(void);
/* checkpoint.c: this process has more (or less) that can not be moved. */
void vf_checkpoint_shares(int more);

/* ---- mig.c ------------------------------------------------------------- */

/* This process lives on that instance of the card, from its registration on. */
void vf_mig_choose(const struct vf_card *card, int instance, int compute);
void vf_mig_apply(const struct vf_card *card, struct vf_nvml_process *process);
/* What process `index` sees as the device: its instance, or the card. */
uint64_t vf_visible_bytes(struct vf_card *card, int index);
uint64_t vf_visible_used(struct vf_card *card, int index);
uint32_t vf_visible_sms(struct vf_card *card, int index);

uint64_t vf_mig_bytes(const struct vf_card *card,
                      const struct vf_gpu_instance *instance);
uint32_t vf_mig_sms(const struct vf_card *card, uint32_t slices);
/* Names a device of MIG; `uuid` is stable while the instance lives. */
void vf_mig_uuid(const struct vf_card *card, int instance, int compute,
                 uint8_t uuid[16]);
void vf_mig_name(const struct vf_card *card,
                 const struct vf_gpu_instance *instance, char *name,
                 unsigned size);

/* ---- identity.c -------------------------------------------------------- */

#define VF_UUID_TEXT 48
/* "GPU-" or "MIG-" and the sixteen bytes in hexadecimal. */
void vf_uuid_text(const char *prefix, const uint8_t uuid[16],
                  char text[VF_UUID_TEXT]);

/* ---- inject.c ---------------------------------------------------------- */

/* Arms a fault; false when the name is too long or all slots are taken. */
bool vf_fault_set(struct vf_card *card, const char *call, uint32_t code,
                  uint32_t times);

#endif
