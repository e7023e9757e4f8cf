/*
 * Shared-memory layout of a slice's region: the contract between the node
 * agent (writer of `limits`) and every guest process (libvxpu.so).
 *
 * A region is a folder with three files, made by the agent before the slice
 * starts and never replaced while it lives (guests keep them mapped):
 *
 *   limits  struct vx_limits  root-owned 0644: the guest may only read it
 *   usage   struct vx_usage   slice-owned 0600: hints, never the bill
 *   lock    VX_MAX_SLOTS + 1 bytes, slice-owned 0600: OFD locks, byte = slot
 *
 * Every field is one 64-bit native-endian word, read and written atomically.
 * All times are nanoseconds of CLOCK_MONOTONIC; compute is CPU nanoseconds
 * on a CPU device and device nanoseconds on a card. See docs/native.md.
 */
#ifndef VXPU_ABI_H
#define VXPU_ABI_H

#include <stddef.h>
#include <stdint.h>

#define VX_ABI_VERSION 2
#define VX_LIMITS_MAGIC 0x314d494c55505856ULL /* "VXPULIM1" in file order */
#define VX_USAGE_MAGIC 0x3147535555505856ULL  /* "VXPUUSG1" in file order */
#define VX_MAX_DEVICES 8
#define VX_MAX_SLOTS 256
#define VX_ARBITER_BYTE 256    /* lock-file byte of the near-limit arbiter */
#define VX_LOCK_FILE_BYTES 257

#define VX_REGION_ROOT "/run/vxpu/uid" /* + "/<real uid>" */
#define VX_DEV_REGION_PREFIX "/dev/shm/vxpu-dev-" /* + "<real uid>" */

/* vx_limits.flags */
#define VX_FLAG_INERT 1  /* whole device bought: no gate, no count, no view */
#define VX_FLAG_CLOSED 2 /* lease gone: no new memory, no new launches */
#define VX_FLAG_STRICT_SYMBOLS 4 /* unknown variants of known calls: withheld */

/* vx_slot.state */
#define VX_SLOT_FREE 0
#define VX_SLOT_CLAIMED 1 /* lock won, fields being written */
#define VX_SLOT_LIVE 2

/* vx_limits_device.kind */
#define VX_DEVICE_CPU 0  /* metered by worker CPU clocks (OpenCL) */
#define VX_DEVICE_CARD 1 /* metered by completion events (CUDA) */

/* Allocations are charged in whole granules: the stated rounding rule. */
#define VX_GRANULE_BYTES 4096

typedef _Atomic uint64_t vx_u64;
typedef _Atomic int64_t vx_i64;

struct vx_limits_device {
    vx_u64 limit_bytes;     /* hard cap over all processes of the slice */
    vx_u64 soft_bytes;      /* guaranteed part on the device; the rest up to
                               limit_bytes may only be managed memory */
    vx_u64 overhead_bytes;  /* taken outside our count; lowers what is left */
    vx_u64 share_permille;  /* of compute_units; 0 closes the gate */
    vx_u64 weight;          /* of idle time lent; the agent's own note */
    vx_u64 priority;        /* higher refills first; the agent's own note */
    vx_u64 gain_ppm;        /* debit = measured x gain; 1000000 on a CPU */
    vx_u64 pause;           /* non-zero: launches wait at the gate */
    vx_u64 compute_units;   /* CPUs that make up 1000 permille; 1 on a card */
    vx_u64 gen;             /* bumped last, after any change of the above */
    vx_i64 agent_debit_ns;  /* running total of what the agent debits */
    vx_u64 ordinal;         /* which device of the first platform that has one */
    vx_u64 max_alloc_bytes; /* 0: min(real, limit_bytes) */
    vx_u64 kind;            /* VX_DEVICE_* */
    vx_u64 uuid_high;       /* of a card: its 16 bytes, big endian */
    vx_u64 uuid_low;
    vx_u64 lend_permille;   /* idle time of others, on top of the share... */
    vx_u64 lend_until_ns;   /* ...until then, even if the agent dies */
    vx_u64 ctx_bytes;       /* reserved by each process at its first context */
    vx_u64 host_limit_bytes;      /* page-locked host memory; 0: no limit */
    vx_u64 copy_bytes_per_second; /* share of copy bandwidth; 0: no limit */
    vx_u64 physical_bytes;        /* of the whole card; 0: unknown */
    vx_u64 hold_from_ns;  /* launches wait from then... (written first) */
    vx_u64 hold_until_ns; /* ...until then, even if the agent dies */
    vx_u64 reserved[8];
};

struct vx_limits {
    vx_u64 magic; /* written last of all when the file is made */
    vx_u64 version;
    vx_u64 file_bytes;
    vx_u64 generation; /* bumped after any change in the file */
    vx_u64 device_count;
    vx_u64 flags;
    vx_u64 slot_count;
    vx_u64 fencing_token; /* the lease's, for people who debug */
    vx_u64 reserved[8];
    struct vx_limits_device device[VX_MAX_DEVICES];
};

struct vx_usage_device {
    vx_u64 peak_bytes;
    vx_u64 denied_count;
    vx_i64 budget_ns; /* may be negative: that is the debt */
    vx_u64 last_refill_ns;
    vx_i64 debited_ns; /* running total of what the layer debited */
    vx_i64 agent_debit_seen_ns; /* how much of agent_debit_ns is folded in */
    vx_u64 launches;
    vx_u64 waits;
    vx_u64 waited_ns;
    vx_u64 measured_ns; /* running total of device time, before the gain */
    vx_i64 copy_budget_bytes;
    vx_u64 copy_last_refill_ns;
    vx_u64 copied_bytes;
    vx_u64 longest_wait_ns;
    vx_u64 reserved[18];
};

struct vx_slot_device {
    vx_u64 used_bytes;
    vx_u64 ctx_bytes;
    vx_u64 host_bytes;
    vx_u64 spill_bytes; /* managed memory beyond the guaranteed part */
};

struct vx_slot {
    vx_u64 state;
    vx_u64 start_ticks; /* field 22 of /proc/<pid>/stat */
    vx_u64 ns_pid;      /* as the guest's own pid namespace sees it */
    vx_u64 pid_ns;      /* inode of that namespace, 0 if unreadable */
    vx_u64 suspect_ns;  /* first sweep that found the lock free */
    vx_u64 epoch;       /* bumped at each claim and each reclaim */
    vx_u64 launches;
    vx_u64 device_ns; /* debited by this process; a hint */
    struct vx_slot_device device[VX_MAX_DEVICES];
};

struct vx_usage {
    vx_u64 magic;
    vx_u64 version;
    vx_u64 file_bytes;
    vx_u64 slot_count;
    vx_u64 unknown_frees; /* frees of pointers that we never charged */
    vx_u64 slots_used; /* slots below this index were claimed at least once */
    vx_u64 unknown_symbols; /* unknown variants of known calls, handed out */
    vx_u64 reserved[9];
    struct vx_usage_device device[VX_MAX_DEVICES];
    struct vx_slot slot[VX_MAX_SLOTS];
};

/* One line a field: tests/architecture compares them with agent/shm.py. */
_Static_assert(offsetof(struct vx_limits_device, limit_bytes) == 0, "");
_Static_assert(offsetof(struct vx_limits_device, soft_bytes) == 8, "");
_Static_assert(offsetof(struct vx_limits_device, overhead_bytes) == 16, "");
_Static_assert(offsetof(struct vx_limits_device, share_permille) == 24, "");
_Static_assert(offsetof(struct vx_limits_device, weight) == 32, "");
_Static_assert(offsetof(struct vx_limits_device, priority) == 40, "");
_Static_assert(offsetof(struct vx_limits_device, gain_ppm) == 48, "");
_Static_assert(offsetof(struct vx_limits_device, pause) == 56, "");
_Static_assert(offsetof(struct vx_limits_device, compute_units) == 64, "");
_Static_assert(offsetof(struct vx_limits_device, gen) == 72, "");
_Static_assert(offsetof(struct vx_limits_device, agent_debit_ns) == 80, "");
_Static_assert(offsetof(struct vx_limits_device, ordinal) == 88, "");
_Static_assert(offsetof(struct vx_limits_device, max_alloc_bytes) == 96, "");
_Static_assert(offsetof(struct vx_limits_device, kind) == 104, "");
_Static_assert(offsetof(struct vx_limits_device, uuid_high) == 112, "");
_Static_assert(offsetof(struct vx_limits_device, uuid_low) == 120, "");
_Static_assert(offsetof(struct vx_limits_device, lend_permille) == 128, "");
_Static_assert(offsetof(struct vx_limits_device, lend_until_ns) == 136, "");
_Static_assert(offsetof(struct vx_limits_device, ctx_bytes) == 144, "");
_Static_assert(offsetof(struct vx_limits_device, host_limit_bytes) == 152, "");
_Static_assert(offsetof(struct vx_limits_device, copy_bytes_per_second) == 160, "");
_Static_assert(offsetof(struct vx_limits_device, physical_bytes) == 168, "");
_Static_assert(offsetof(struct vx_limits_device, hold_from_ns) == 176, "");
_Static_assert(offsetof(struct vx_limits_device, hold_until_ns) == 184, "");
_Static_assert(offsetof(struct vx_limits_device, reserved) == 192, "");
_Static_assert(sizeof(struct vx_limits_device) == 256, "");

_Static_assert(offsetof(struct vx_limits, magic) == 0, "");
_Static_assert(offsetof(struct vx_limits, version) == 8, "");
_Static_assert(offsetof(struct vx_limits, file_bytes) == 16, "");
_Static_assert(offsetof(struct vx_limits, generation) == 24, "");
_Static_assert(offsetof(struct vx_limits, device_count) == 32, "");
_Static_assert(offsetof(struct vx_limits, flags) == 40, "");
_Static_assert(offsetof(struct vx_limits, slot_count) == 48, "");
_Static_assert(offsetof(struct vx_limits, fencing_token) == 56, "");
_Static_assert(offsetof(struct vx_limits, reserved) == 64, "");
_Static_assert(offsetof(struct vx_limits, device) == 128, "");
_Static_assert(sizeof(struct vx_limits) == 2176, "");

_Static_assert(offsetof(struct vx_usage_device, peak_bytes) == 0, "");
_Static_assert(offsetof(struct vx_usage_device, denied_count) == 8, "");
_Static_assert(offsetof(struct vx_usage_device, budget_ns) == 16, "");
_Static_assert(offsetof(struct vx_usage_device, last_refill_ns) == 24, "");
_Static_assert(offsetof(struct vx_usage_device, debited_ns) == 32, "");
_Static_assert(offsetof(struct vx_usage_device, agent_debit_seen_ns) == 40, "");
_Static_assert(offsetof(struct vx_usage_device, launches) == 48, "");
_Static_assert(offsetof(struct vx_usage_device, waits) == 56, "");
_Static_assert(offsetof(struct vx_usage_device, waited_ns) == 64, "");
_Static_assert(offsetof(struct vx_usage_device, measured_ns) == 72, "");
_Static_assert(offsetof(struct vx_usage_device, copy_budget_bytes) == 80, "");
_Static_assert(offsetof(struct vx_usage_device, copy_last_refill_ns) == 88, "");
_Static_assert(offsetof(struct vx_usage_device, copied_bytes) == 96, "");
_Static_assert(offsetof(struct vx_usage_device, longest_wait_ns) == 104, "");
_Static_assert(offsetof(struct vx_usage_device, reserved) == 112, "");
_Static_assert(sizeof(struct vx_usage_device) == 256, "");

_Static_assert(offsetof(struct vx_slot_device, used_bytes) == 0, "");
_Static_assert(offsetof(struct vx_slot_device, ctx_bytes) == 8, "");
_Static_assert(offsetof(struct vx_slot_device, host_bytes) == 16, "");
_Static_assert(offsetof(struct vx_slot_device, spill_bytes) == 24, "");
_Static_assert(sizeof(struct vx_slot_device) == 32, "");

_Static_assert(offsetof(struct vx_slot, state) == 0, "");
_Static_assert(offsetof(struct vx_slot, start_ticks) == 8, "");
_Static_assert(offsetof(struct vx_slot, ns_pid) == 16, "");
_Static_assert(offsetof(struct vx_slot, pid_ns) == 24, "");
_Static_assert(offsetof(struct vx_slot, suspect_ns) == 32, "");
_Static_assert(offsetof(struct vx_slot, epoch) == 40, "");
_Static_assert(offsetof(struct vx_slot, launches) == 48, "");
_Static_assert(offsetof(struct vx_slot, device_ns) == 56, "");
_Static_assert(offsetof(struct vx_slot, device) == 64, "");
_Static_assert(sizeof(struct vx_slot) == 320, "");

_Static_assert(offsetof(struct vx_usage, magic) == 0, "");
_Static_assert(offsetof(struct vx_usage, version) == 8, "");
_Static_assert(offsetof(struct vx_usage, file_bytes) == 16, "");
_Static_assert(offsetof(struct vx_usage, slot_count) == 24, "");
_Static_assert(offsetof(struct vx_usage, unknown_frees) == 32, "");
_Static_assert(offsetof(struct vx_usage, slots_used) == 40, "");
_Static_assert(offsetof(struct vx_usage, unknown_symbols) == 48, "");
_Static_assert(offsetof(struct vx_usage, reserved) == 56, "");
_Static_assert(offsetof(struct vx_usage, device) == 128, "");
_Static_assert(offsetof(struct vx_usage, slot) == 2176, "");
_Static_assert(sizeof(struct vx_usage) == 84096, "");

#endif
