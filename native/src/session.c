#include "session.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "clock.h"
#include "launch.h"
#include "log.h"
#include "memory.h"
#include "svm.h"
#include "workers.h"

enum { STATE_NONE, STATE_FORKED, STATE_OPEN };

/* A slice shows one device to OpenCL, so everything is charged to it. */
enum { DEVICE = 0 };

static struct vx_region region;
static _Atomic int state = STATE_NONE;
static _Atomic uint32_t life = 1;
static _Atomic pid_t owner;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void forked_child(void)
{
    /* Threads of the parent may have held these: start afresh. */
    pthread_mutex_init(&lock, NULL);
    vx_launch_after_fork();
    vx_workers_after_fork();
    vx_svm_after_fork();
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

uint32_t vx_session_life(void)
{
    return atomic_load(&life);
}

bool vx_session_owner(void)
{
    return atomic_load(&state) == STATE_OPEN && atomic_load(&owner) == getpid();
}

const struct vx_limits_device *vx_session_limits(void)
{
    return &region.limits->device[DEVICE];
}

struct vx_bucket vx_session_bucket(void)
{
    return (struct vx_bucket){&region.limits->device[DEVICE],
                              &region.usage->device[DEVICE]};
}

void vx_session_count_launch(uint64_t waited_ns)
{
    struct vx_usage_device *u = &region.usage->device[DEVICE];
    atomic_fetch_add(&u->launches, 1);
    atomic_fetch_add(&vx_region_slot(&region)->launches, 1);
    if (waited_ns) {
        atomic_fetch_add(&u->waits, 1);
        atomic_fetch_add(&u->waited_ns, waited_ns);
    }
}

void vx_session_debit(int64_t ns)
{
    struct vx_bucket b = vx_session_bucket();
    vx_bucket_debit(&b, ns);
    atomic_fetch_add(&vx_region_slot(&region)->device_ns, (uint64_t)ns);
}

bool vx_session_reserve(uint64_t bytes)
{
    if (vx_session_closed())
        return false;
    bool ours = atomic_load(&vx_region_slot(&region)->epoch) == region.epoch;
    if (ours && vx_mem_try(&region, DEVICE, bytes))
        return true;
    uint64_t now = vx_now_ns();
    pthread_mutex_lock(&lock);
    bool got = vx_slots_keep(&region, now) &&
               vx_mem_retry(&region, DEVICE, bytes, now);
    pthread_mutex_unlock(&lock);
    return got;
}

void vx_session_refund(uint64_t bytes)
{
    vx_mem_refund(&region, DEVICE, bytes);
}

uint64_t vx_session_free_bytes(void)
{
    return vx_mem_free(&region, DEVICE);
}

void vx_session_count_unknown_free(void)
{
    atomic_fetch_add(&region.usage->unknown_frees, 1);
}
