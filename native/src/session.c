#include "session.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "charges.h"
#include "clock.h"
#include "cu_memory.h"
#include "cl_launch.h"
#include "cu_gate.h"
#include "log.h"
#include "workers.h"

enum { STATE_NONE, STATE_FORKED, STATE_OPEN };

static struct vx_region region;
static _Atomic int state = STATE_NONE;
static _Atomic uint32_t life = 1;
static _Atomic pid_t owner;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void forked_child(void)
{
    /* Threads of the parent may have held these: start afresh. */
    pthread_mutex_init(&lock, NULL);
    vx_cl_launch_after_fork();
    vx_gate_after_fork();
    vx_workers_after_fork();
    vx_charges_after_fork();
    vx_cu_memory_after_fork();
    atomic_fetch_add(&life, 1);
    if (atomic_load(&state) == STATE_OPEN) {
        vx_slots_after_fork(&region);
        atomic_store(&state, STATE_FORKED);
    }
}

static int open_and_register(void)
{
    int before = atomic_load(&state);
    if (before == STATE_OPEN)
        return 0;
    int err = before == STATE_NONE ? vx_region_open(&region) : 0;
    if (err == 0) {
        err = vx_slots_register(&region, vx_now_ns());
        atomic_store(&owner, getpid());
        /* Mapped now, so only the slot may be missing at the next try. */
        atomic_store(&state, err == 0 ? STATE_OPEN : STATE_FORKED);
    }
    return err;
}

bool vx_session_open(void)
{
    if (atomic_load(&state) == STATE_OPEN)
        return true;
    static _Atomic bool has_handler;
    pthread_mutex_lock(&lock);
    if (!atomic_exchange(&has_handler, true))
        pthread_atfork(NULL, NULL, forked_child);
    int err = open_and_register();
    pthread_mutex_unlock(&lock);
    return err == 0;
}

bool vx_session_inert(void)
{
    return (atomic_load(&region.limits->flags) & VX_FLAG_INERT) != 0;
}

bool vx_session_closed(void)
{
    return (atomic_load(&region.limits->flags) & VX_FLAG_CLOSED) != 0;
}

enum vx_mode vx_session_mode(void)
{
    if (!vx_session_open())
        return VX_REFUSE;
    return vx_session_inert() ? VX_PASS : VX_LIMIT;
}

uint32_t vx_session_life(void)
{
    return atomic_load(&life);
}

bool vx_session_owner(void)
{
    return atomic_load(&state) == STATE_OPEN && atomic_load(&owner) == getpid();
}

unsigned vx_session_device_count(void)
{
    uint64_t count = atomic_load(&region.limits->device_count);
    return count > VX_MAX_DEVICES ? VX_MAX_DEVICES : (unsigned)count;
}

static uint64_t big_endian(const unsigned char *bytes)
{
    uint64_t word = 0;
    for (int i = 0; i < 8; i++)
        word = word << 8 | bytes[i];
    return word;
}

int vx_session_device_of(const unsigned char uuid[16])
{
    uint64_t high = big_endian(uuid), low = big_endian(uuid + 8);
    for (unsigned i = 0; i < vx_session_device_count(); i++) {
        const struct vx_limits_device *d = &region.limits->device[i];
        if (atomic_load(&d->kind) == VX_DEVICE_CARD &&
            atomic_load(&d->uuid_high) == high &&
            atomic_load(&d->uuid_low) == low)
            return (int)i;
    }
    return -1;
}

const struct vx_limits_device *vx_session_limits(unsigned device)
{
    return &region.limits->device[device];
}

struct vx_bucket vx_session_bucket(unsigned device)
{
    return (struct vx_bucket){&region.limits->device[device],
                              &region.usage->device[device]};
}

static void raise_to(vx_u64 *word, uint64_t value)
{
    uint64_t seen = atomic_load(word);
    while (seen < value && !atomic_compare_exchange_weak(word, &seen, value))
        ;
}

void vx_session_count_launches(unsigned device, uint64_t count,
                               uint64_t waited_ns)
{
    struct vx_usage_device *u = &region.usage->device[device];
    atomic_fetch_add(&u->launches, count);
    atomic_fetch_add(&vx_region_slot(&region)->launches, count);
    if (waited_ns) {
        atomic_fetch_add(&u->waits, 1);
        atomic_fetch_add(&u->waited_ns, waited_ns);
        raise_to(&u->longest_wait_ns, waited_ns);
    }
}

void vx_session_debit(unsigned device, int64_t ns)
{
    struct vx_bucket b = vx_session_bucket(device);
    vx_bucket_debit(&b, ns);
    atomic_fetch_add(&vx_region_slot(&region)->device_ns, (uint64_t)ns);
}

bool vx_session_reserve(unsigned device, enum vx_memory kind, uint64_t bytes)
{
    if (vx_session_closed())
        return false;
    bool ours = atomic_load(&vx_region_slot(&region)->epoch) == region.epoch;
    if (ours && vx_mem_try(&region, device, kind, bytes))
        return true;
    uint64_t now = vx_now_ns();
    pthread_mutex_lock(&lock);
    bool got = vx_slots_keep(&region, now) &&
               vx_mem_retry(&region, device, kind, bytes, now);
    pthread_mutex_unlock(&lock);
    return got;
}

void vx_session_refund(unsigned device, enum vx_memory kind, uint64_t bytes)
{
    vx_mem_refund(&region, device, kind, bytes);
}

uint64_t vx_session_free_bytes(unsigned device)
{
    return vx_mem_free(&region, device);
}

uint64_t vx_session_used_bytes(unsigned device)
{
    return vx_mem_used(&region, device);
}

uint64_t vx_session_sum_bytes(unsigned device, enum vx_memory kind)
{
    return vx_mem_sum(&region, device, kind);
}

bool vx_session_has_pid(uint64_t pid)
{
    uint64_t count = atomic_load(&region.usage->slots_used);
    uint64_t own = atomic_load(&vx_region_slot(&region)->pid_ns);
    for (uint64_t i = 0; i < count && i < VX_MAX_SLOTS; i++) {
        struct vx_slot *s = &region.usage->slot[i];
        if (atomic_load(&s->state) == VX_SLOT_LIVE &&
            atomic_load(&s->ns_pid) == pid && atomic_load(&s->pid_ns) == own)
            return true;
    }
    return false;
}

void vx_session_count_unknown_free(void)
{
    atomic_fetch_add(&region.usage->unknown_frees, 1);
}

void vx_session_count_unknown_symbol(void)
{
    atomic_fetch_add(&region.usage->unknown_symbols, 1);
}

bool vx_session_strict_symbols(void)
{
    return (atomic_load(&region.limits->flags) & VX_FLAG_STRICT_SYMBOLS) != 0;
}
