#include "workers.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

enum { MAX_WORKERS = 1024 };

struct worker {
    pid_t tid;
    uint64_t cpu_ns;
};

/* Written under `lock` only; readers see entries below `count`. */
static struct worker workers[MAX_WORKERS];
static _Atomic unsigned count;
static uint64_t ended_ns;
/* CPU time of the whole process before it first called the runtime. */
static uint64_t process_base_ns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Threads that were there before; valid while `scanning` > 0. */
static pid_t before[MAX_WORKERS];
static unsigned before_count;
static unsigned scanning;

static unsigned list_threads(pid_t *out)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/task");
    if (!d)
        return 0;
    for (struct dirent *e; (e = readdir(d)) && n < MAX_WORKERS;)
        if (e->d_name[0] != '.')
            out[n++] = (pid_t)strtol(e->d_name, NULL, 10);
    closedir(d);
    return n;
}

static bool contains(const pid_t *list, unsigned n, pid_t tid)
{
    for (unsigned i = 0; i < n; i++)
        if (list[i] == tid)
            return true;
    return false;
}

static bool is_worker(pid_t tid)
{
    unsigned n = atomic_load(&count);
    for (unsigned i = 0; i < n; i++)
        if (workers[i].tid == tid)
            return true;
    return false;
}

static uint64_t to_ns(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * 1000000000ULL + (uint64_t)t->tv_nsec;
}

static uint64_t process_ns(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0 ? to_ns(&t) : 0;
}

void vx_workers_scan_begin(void)
{
    pthread_mutex_lock(&lock);
    if (process_base_ns == 0)
        process_base_ns = process_ns();
    if (scanning++ == 0)
        before_count = list_threads(before);
    pthread_mutex_unlock(&lock);
}

void vx_workers_scan_end(void)
{
    static pid_t now[MAX_WORKERS];
    pthread_mutex_lock(&lock);
    unsigned n = before_count ? list_threads(now) : 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned at = atomic_load(&count);
        if (at == MAX_WORKERS || contains(before, before_count, now[i]) ||
            is_worker(now[i]))
            continue;
        workers[at] = (struct worker){now[i], 0};
        atomic_store(&count, at + 1);
        vx_log(2, "worker thread %d", (int)now[i]);
    }
    scanning--;
    pthread_mutex_unlock(&lock);
}

/* The kernel's id of a thread's CPU clock: ~tid, "per thread", "scheduled". */
static clockid_t thread_clock(pid_t tid)
{
    return (clockid_t)((~(unsigned)tid << 3) | 6U);
}

uint64_t vx_workers_cpu_ns(void)
{
    struct timespec t;
    pthread_mutex_lock(&lock);
    uint64_t sum = ended_ns;
    for (unsigned i = 0; i < atomic_load(&count); i++) {
        struct worker *w = &workers[i];
        if (w->tid == 0)
            continue;
        if (clock_gettime(thread_clock(w->tid), &t) == 0) {
            w->cpu_ns = to_ns(&t);
            sum += w->cpu_ns;
        } else {
            /* Ended: keep its time, and never take its id's next owner. */
            ended_ns += w->cpu_ns;
            sum += w->cpu_ns;
            w->tid = 0;
        }
    }
    bool none = atomic_load(&count) == 0;
    pthread_mutex_unlock(&lock);
    return none ? process_ns() - process_base_ns : sum;
}

unsigned vx_workers_count(void)
{
    return atomic_load(&count);
}

bool vx_workers_is_self(void)
{
    return is_worker(gettid());
}

static bool is_asleep(pid_t tid)
{
    char path[64], text[128];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *state = strrchr(text, ')');
    return !state || strlen(state) < 3 || (state[2] != 'R' && state[2] != 'D');
}

bool vx_workers_asleep(void)
{
    unsigned n = atomic_load(&count);
    for (unsigned i = 0; i < n; i++)
        if (workers[i].tid != 0 && !is_asleep(workers[i].tid))
            return false;
    return true;
}

void vx_workers_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    atomic_store(&count, 0);
    ended_ns = 0;
    process_base_ns = 0;
    scanning = 0;
}
