#include "region.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"

enum { ARBITER_TRIES = 25, ARBITER_PAUSE_NS = 200000 };
static const uint64_t SUSPECT_NS = 1000000000ULL;

/* OFD locks die with the last descriptor, across pid namespaces. */
static bool lock_byte(int fd, int byte, short type)
{
    struct flock l = {.l_type = type,
                      .l_whence = SEEK_SET,
                      .l_start = byte,
                      .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &l) == 0;
}

static uint64_t own_pid_namespace(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/*
 * Start time of a process in ticks since boot; 0 when it is gone or only a
 * zombie is left, UINT64_MAX when /proc can not tell.
 */
static uint64_t start_ticks(uint64_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT && access("/proc/self/stat", R_OK) == 0
                   ? 0 : UINT64_MAX;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    if (size <= 0)
        return size < 0 && errno == ESRCH ? 0 : UINT64_MAX;
    text[size] = '\0';
    /* The name may hold blanks and brackets: start behind the last one. */
    char *at = strrchr(text, ')');
    if (!at || at[1] == '\0' || at[2] == 'Z' || at[2] == 'X')
        return 0;
    at += 2;
    for (int field = 3; field < 22 && at; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at ? strtoull(at, NULL, 10) : UINT64_MAX;
}

/* The caller holds the slot's byte, so its owner has no lock any more. */
static bool owner_is_dead(struct vx_slot *s, uint64_t now)
{
    uint64_t mine = own_pid_namespace();
    if (mine != 0 && atomic_load(&s->pid_ns) == mine) {
        uint64_t ticks = start_ticks(atomic_load(&s->ns_pid));
        if (ticks != UINT64_MAX)
            return ticks != atomic_load(&s->start_ticks);
    }
    /* A daemon that closed all descriptors gets a second to notice. */
    uint64_t since = atomic_load(&s->suspect_ns);
    if (since == 0 || since > now) {
        atomic_store(&s->suspect_ns, now);
        return false;
    }
    return now - since >= SUSPECT_NS;
}

static void empty_slot(struct vx_slot *s)
{
    atomic_fetch_add(&s->epoch, 1);
    for (int d = 0; d < VX_MAX_DEVICES; d++) {
        atomic_store(&s->device[d].used_bytes, 0);
        atomic_store(&s->device[d].ctx_bytes, 0);
        atomic_store(&s->device[d].host_bytes, 0);
        atomic_store(&s->device[d].spill_bytes, 0);
    }
    VX_CRASH("reclaim.zeroed");
    atomic_store(&s->suspect_ns, 0);
    /* Last: a death before this line leaves a slot that is swept again. */
    atomic_store(&s->state, VX_SLOT_FREE);
}

bool vx_slots_sweep(struct vx_region *r, uint64_t now)
{
    bool any = false;
    for (int i = 0; i < VX_MAX_SLOTS; i++) {
        struct vx_slot *s = &r->usage->slot[i];
        if (i == r->slot || atomic_load(&s->state) == VX_SLOT_FREE)
            continue;
        if (!lock_byte(r->lock_fd, i, F_WRLCK))
            continue;
        VX_CRASH("reclaim.locked");
        bool claimed = atomic_load(&s->state) == VX_SLOT_CLAIMED;
        if (atomic_load(&s->state) != VX_SLOT_FREE &&
            (claimed || owner_is_dead(s, now))) {
            empty_slot(s);
            any = true;
        }
        lock_byte(r->lock_fd, i, F_UNLCK);
    }
    return any;
}

static void raise_slots_used(struct vx_usage *u, uint64_t count)
{
    uint64_t seen = atomic_load(&u->slots_used);
    while (seen < count &&
           !atomic_compare_exchange_weak(&u->slots_used, &seen, count))
        ;
}

static void fill_slot(struct vx_region *r, int index)
{
    struct vx_slot *s = &r->usage->slot[index];
    atomic_store(&s->state, VX_SLOT_CLAIMED);
    VX_CRASH("register.claimed");
    raise_slots_used(r->usage, (uint64_t)index + 1);
    r->epoch = atomic_fetch_add(&s->epoch, 1) + 1;
    atomic_store(&s->ns_pid, (uint64_t)getpid());
    atomic_store(&s->start_ticks, start_ticks((uint64_t)getpid()));
    atomic_store(&s->pid_ns, own_pid_namespace());
    atomic_store(&s->suspect_ns, 0);
    atomic_store(&s->launches, 0);
    atomic_store(&s->device_ns, 0);
    for (int d = 0; d < VX_MAX_DEVICES; d++) {
        vx_u64 *held = r->held_bytes[d];
        atomic_store(&s->device[d].used_bytes, atomic_load(&held[0]));
        atomic_store(&s->device[d].ctx_bytes, atomic_load(&held[1]));
        atomic_store(&s->device[d].host_bytes, atomic_load(&held[2]));
        atomic_store(&s->device[d].spill_bytes, atomic_load(&held[3]));
    }
    VX_CRASH("register.filled");
    r->slot = index;
    atomic_store(&s->state, VX_SLOT_LIVE);
    VX_CRASH("register.live");
}

static bool take_free_slot(struct vx_region *r)
{
    for (int i = 0; i < VX_MAX_SLOTS; i++) {
        struct vx_slot *s = &r->usage->slot[i];
        if (atomic_load(&s->state) != VX_SLOT_FREE)
            continue;
        if (!lock_byte(r->lock_fd, i, F_WRLCK))
            continue;
        if (atomic_load(&s->state) == VX_SLOT_FREE) {
            fill_slot(r, i);
            return true;
        }
        lock_byte(r->lock_fd, i, F_UNLCK);
    }
    return false;
}

int vx_slots_register(struct vx_region *r, uint64_t now)
{
    if (r->lock_fd < 0 && vx_region_open_lock(r) != 0)
        return -EAGAIN;
    r->slot = -1;
    /* A process that ended leaves its slot to the next one that comes. */
    vx_slots_sweep(r, now);
    if (take_free_slot(r))
        return 0;
    vx_log(1, "no free slot among %d", VX_MAX_SLOTS);
    return -EAGAIN;
}

static bool descriptor_is_ours(const struct vx_region *r)
{
    struct stat st;
    return r->lock_fd >= 0 && fstat(r->lock_fd, &st) == 0 &&
           st.st_dev == r->lock_dev && st.st_ino == r->lock_ino;
}

bool vx_slots_keep(struct vx_region *r, uint64_t now)
{
    bool same = atomic_load(&vx_region_slot(r)->epoch) == r->epoch;
    if (same && descriptor_is_ours(r))
        return true;
    /* The number may be another file's by now: never close it. */
    if (!descriptor_is_ours(r)) {
        r->lock_fd = -1;
        if (vx_region_open_lock(r) != 0)
            return false;
    }
    for (int i = 0; same && i < ARBITER_TRIES; i++) {
        if (lock_byte(r->lock_fd, r->slot, F_WRLCK) &&
            atomic_load(&vx_region_slot(r)->epoch) == r->epoch)
            return true;
        same = atomic_load(&vx_region_slot(r)->epoch) == r->epoch;
        vx_sleep_ns(ARBITER_PAUSE_NS);
    }
    /* Reclaimed while we were alive: our bytes go into a new slot. */
    return vx_slots_register(r, now) == 0;
}

void vx_slots_after_fork(struct vx_region *r)
{
    /* Else the parent's lock would live as long as this child does. */
    if (descriptor_is_ours(r))
        close(r->lock_fd);
    r->lock_fd = -1;
    r->slot = -1;
    for (int d = 0; d < VX_MAX_DEVICES; d++)
        for (int kind = 0; kind < 4; kind++)
            atomic_store(&r->held_bytes[d][kind], 0);
}

bool vx_slots_lock_arbiter(struct vx_region *r)
{
    /* Bounded: its holder may be stopped, and nobody waits 10 ms for it. */
    for (int i = 0; i < ARBITER_TRIES; i++) {
        if (lock_byte(r->lock_fd, VX_ARBITER_BYTE, F_WRLCK))
            return true;
        vx_sleep_ns(ARBITER_PAUSE_NS);
    }
    return false;
}

void vx_slots_unlock_arbiter(struct vx_region *r)
{
    lock_byte(r->lock_fd, VX_ARBITER_BYTE, F_UNLCK);
}
