#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "card.h"
#include "clock_file.h"

static const uint64_t SECOND = 1000000000ULL;
static const uint64_t SETTLE_NS = 50000;   /* how far a thread may run ahead */
static const uint64_t CHECK_NS = 5000000;  /* real time between two checks */

static struct clock_file *file;
static int file_fd = -1;
static pthread_once_t opened = PTHREAD_ONCE_INIT;
static pthread_key_t at_thread_exit;
static _Thread_local struct sleeper *me;
static _Thread_local uint64_t spent_ns; /* ahead of the shared now */

static uint64_t real_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* ---- this process ---------------------------------------------------------- */

static void after_fork(void)
{
    me = NULL; /* the parent's thread takes part, not we */
    spent_ns = 0;
}

static void thread_exit(void *unused)
{
    (void)unused;
    vxfake_leave();
}

static void open_clock(void)
{
    char path[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%s/" VF_CLOCK_NAME, vf_folder());
    int fd = vf_open_high(path);
    if (fd < 0)
        return;
    if (fstat(fd, &st) != 0 || st.st_size != sizeof(struct clock_file))
        return;
    struct clock_file *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE,
                                MAP_SHARED, fd, 0);
    if (c == MAP_FAILED)
        return;
    if (c->magic != VF_CLOCK_MAGIC || c->kind != VF_CLOCK_VIRTUAL) {
        munmap(c, sizeof *c);
        return;
    }
    file_fd = fd; /* open for life: a close would drop our locks */
    pthread_key_create(&at_thread_exit, thread_exit);
    pthread_atfork(NULL, NULL, after_fork);
    file = c;
}

bool vf_clock_is_virtual(void)
{
    pthread_once(&opened, open_clock);
    return file != NULL;
}

static void lock_clock(void)
{
    if (pthread_mutex_lock(&file->lock) != EOWNERDEAD)
        return;
    file->running = 0; /* may be half counted */
    for (uint32_t i = 0; i < file->high && i < VF_SLEEPERS; i++)
        file->running += file->sleepers[i].state == RUNNING;
    pthread_mutex_consistent(&file->lock);
}

static void unlock_clock(void) { pthread_mutex_unlock(&file->lock); }

static void set_state(struct sleeper *s, enum state state)
{
    file->running += (state == RUNNING) - (s->state == RUNNING);
    s->quiet = 0;
    atomic_store(&s->state, state);
}

static bool lock_byte(struct sleeper *s, short type)
{
    struct flock l = {.l_type = type, .l_whence = SEEK_SET,
                      .l_start = s - file->sleepers, .l_len = 1};
    return fcntl(file_fd, F_SETLK, &l) == 0;
}

static void take_entry(void)
{
    lock_clock();
    for (uint32_t i = 0; i < VF_SLEEPERS && !me; i++) {
        struct sleeper *s = &file->sleepers[i];
        if (s->state != FREE || !lock_byte(s, F_WRLCK))
            continue;
        s->pid = (int32_t)getpid();
        s->tid = (int32_t)syscall(SYS_gettid);
        s->pinned = 0;
        set_state(s, RUNNING);
        if (file->high <= i)
            file->high = i + 1;
        me = s;
    }
    unlock_clock();
    pthread_setspecific(at_thread_exit, me);
}

void vf_take_part(void)
{
    if (!vf_clock_is_virtual())
        return;
    if (!me)
        take_entry();
    if (!me || atomic_load_explicit(&me->state, memory_order_relaxed) ==
                   RUNNING)
        return;
    lock_clock(); /* it was taken for blocked elsewhere, and is back */
    set_state(me, RUNNING);
    unlock_clock();
}

/* ---- moving on ----------------------------------------------------------------- */

static void futex_wake(struct sleeper *s)
{
    atomic_fetch_add(&s->word, 1);
    syscall(SYS_futex, &s->word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void futex_wait(struct sleeper *s, uint32_t seen)
{
    struct timespec t = {0, (long)CHECK_NS};
    syscall(SYS_futex, &s->word, FUTEX_WAIT, seen, &t, NULL, 0);
}

/* Nobody runs: on to the earliest wake-up. Lock held. */
static void move_on(void)
{
    uint64_t first = UINT64_MAX;
    if (file->running > 0)
        return;
    for (uint32_t i = 0; i < file->high; i++) {
        struct sleeper *s = &file->sleepers[i];
        if (s->state == SLEEPING && s->wake_ns < first)
            first = s->wake_ns;
    }
    if (first == UINT64_MAX)
        return;
    if (first > file->now_ns)
        atomic_store(&file->now_ns, first);
    for (uint32_t i = 0; i < file->high; i++) {
        struct sleeper *s = &file->sleepers[i];
        if (s->state != SLEEPING || s->wake_ns > file->now_ns)
            continue;
        set_state(s, RUNNING);
        if (s != me)
            futex_wake(s);
    }
}

/* The thread's context switches while it sleeps, 0 while it runs or is hid. */
static uint64_t sleeping_switches(const struct sleeper *s)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", s->pid, s->tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *state = strstr(text, "\nState:\t");
    const char *count = strstr(text, "\nvoluntary_ctxt_switches:");
    if (!state || !count || (state[8] != 'S' && state[8] != 'T'))
        return 0;
    return strtoull(count + 25, NULL, 10) + 1;
}

static bool is_dead(struct sleeper *s)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET,
                      .l_start = s - file->sleepers, .l_len = 1};
    if (s->pid == (int32_t)getpid())
        return false;
    return fcntl(file_fd, F_GETLK, &l) == 0 && l.l_type == F_UNLCK;
}

/*
 * Time stands: a participant died, or blocks outside the driver (a pipe, a
 * lock of its own). Who is found asleep at the same place in two checks is
 * left out until it calls again.
 */
static void check_runners(void)
{
    uint64_t now = real_now();
    lock_clock();
    if (now - file->checked_ns < CHECK_NS) {
        unlock_clock();
        return;
    }
    file->checked_ns = now;
    for (uint32_t i = 0; i < file->high; i++) {
        struct sleeper *s = &file->sleepers[i];
        if (s->state != FREE && is_dead(s)) {
            set_state(s, FREE);
            continue;
        }
        if (s->state != RUNNING || s->pinned || s == me)
            continue;
        uint64_t switches = sleeping_switches(s);
        s->quiet = switches && switches == s->switches ? s->quiet + 1 : 0;
        s->switches = switches;
        if (s->quiet >= 2)
            set_state(s, PARKED);
    }
    move_on();
    unlock_clock();
}

static void virtual_sleep(uint64_t when)
{
    vf_take_part();
    if (!me) { /* all entries taken: let the others go on */
        sched_yield();
        return;
    }
    spent_ns = 0;
    lock_clock();
    me->wake_ns = when;
    set_state(me, SLEEPING);
    uint32_t seen = atomic_load(&me->word);
    move_on();
    unlock_clock();
    while (atomic_load(&me->state) == SLEEPING) {
        futex_wait(me, seen);
        if (atomic_load(&me->state) == SLEEPING)
            check_runners();
    }
}

/* ---- what others call ------------------------------------------------------------ */

uint64_t vf_now_ns(void)
{
    if (!vf_clock_is_virtual())
        return real_now();
    return atomic_load_explicit(&file->now_ns, memory_order_acquire) +
           spent_ns;
}

void vf_sleep_until_ns(uint64_t when)
{
    if (vf_clock_is_virtual()) {
        virtual_sleep(when);
        return;
    }
    struct timespec t = {(time_t)(when / SECOND), (long)(when % SECOND)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

void vf_sleep_ns(uint64_t ns) { vf_sleep_until_ns(vf_now_ns() + ns); }

void vf_spend_ns(uint64_t ns)
{
    if (!vf_clock_is_virtual())
        return;
    vf_take_part();
    spent_ns += ns;
    if (spent_ns >= SETTLE_NS)
        vf_settle();
}

void vf_settle(void)
{
    if (spent_ns > 0)
        virtual_sleep(vf_now_ns());
}

struct sleeper *vf_clock_me(void) { return me; }

void vf_park(void)
{
    if (!me)
        return;
    lock_clock();
    set_state(me, PARKED);
    move_on();
    unlock_clock();
}

void vf_rouse(struct sleeper *sleeper)
{
    if (!sleeper)
        return;
    lock_clock();
    if (sleeper->state == PARKED)
        set_state(sleeper, RUNNING);
    unlock_clock();
}

/* A process that ends in peace does not keep the others waiting. */
__attribute__((destructor)) static void leave_at_exit(void)
{
    if (file)
        vxfake_leave();
}

uint64_t vxfake_now_ns(void) { return vf_now_ns(); }

void vxfake_sleep_ns(uint64_t ns) { vf_sleep_ns(ns); }

void vxfake_join(void)
{
    vf_take_part();
    if (me)
        me->pinned = 1;
}

void vxfake_leave(void)
{
    if (!vf_clock_is_virtual() || !me)
        return;
    lock_clock();
    set_state(me, FREE);
    lock_byte(me, F_UNLCK);
    me = NULL;
    spent_ns = 0;
    move_on();
    unlock_clock();
}
