/*
 * The driver's own thread: runs host functions and callbacks when the card
 * reaches them, and keeps an eye on waits for values. It exists from the
 * first of these on, and stands aside while there is none.
 */
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "lane.h"

struct job {
    struct job *next;
    struct vf_lane *lane;
    uint64_t number;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct job *first, **last;
    struct sleeper *sleeper;
    bool running, serving, watching;
} host = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER};

static _Thread_local bool is_host_thread;
static const uint64_t SHORT_NS = 20000, LONG_NS = 1000000;

bool vf_on_host_thread(void) { return is_host_thread; }

static void after_fork(void)
{
    pthread_mutex_init(&host.lock, NULL);
    pthread_cond_init(&host.work, NULL);
    host.first = NULL;
    host.last = &host.first;
    host.running = host.serving = false;
    host.sleeper = NULL;
}

static struct vf_slot *slot_of(const struct job *job)
{
    return &job->lane->queue->slots[job->number % VF_QUEUE];
}

/* The card is at this job: run it, and say that it is through. */
static bool try_job(struct job *job)
{
    struct vf_effect *e = &job->lane->effects[job->number % VF_QUEUE];
    if (vf_lane_is_done(job->lane, job->number))
        return true;
    if (!e->on_thread || atomic_load(&slot_of(job)->state) != VF_BEGUN)
        return false;
    e->effect(e->arg);
    vf_lane_release(job->lane, job->number);
    vf_lane_look(job->lane);
    return vf_lane_is_done(job->lane, job->number);
}

static struct job *take_jobs(void)
{
    pthread_mutex_lock(&host.lock);
    while (!host.first) {
        vf_park();
        pthread_cond_wait(&host.work, &host.lock);
    }
    struct job *jobs = host.first;
    host.first = NULL;
    host.last = &host.first;
    pthread_mutex_unlock(&host.lock);
    return jobs;
}

static void give_back(struct job *jobs)
{
    struct job *end = jobs;
    if (!jobs)
        return;
    while (end->next)
        end = end->next;
    pthread_mutex_lock(&host.lock);
    end->next = host.first;
    if (!host.first)
        host.last = &end->next;
    host.first = jobs;
    pthread_mutex_unlock(&host.lock);
}

/* When the card gets to a job if nothing else comes; at most LONG_NS on. */
static uint64_t wait_for(const struct job *job, uint64_t idle)
{
    vf_lock(job->lane->card);
    uint64_t when = vf_expect_end(job->lane->card, job->lane->index,
                                  job->number);
    vf_unlock(job->lane->card);
    uint64_t now = vf_now_ns();
    if (when == UINT64_MAX || when <= now)
        return idle;
    return when - now < LONG_NS ? when - now : LONG_NS;
}

/* One pass over the jobs: in the order of each stream by the engine's rule. */
static struct job *pass(struct job *jobs, uint64_t idle, uint64_t *sleep_ns)
{
    struct job **at = &jobs;
    *sleep_ns = LONG_NS;
    while (*at) {
        struct job *job = *at;
        vf_lane_look(job->lane);
        if (try_job(job)) {
            *at = job->next;
            free(job);
            *sleep_ns = 0;
            continue;
        }
        uint64_t ns = wait_for(job, idle);
        if (ns < *sleep_ns)
            *sleep_ns = ns;
        at = &job->next;
    }
    return jobs;
}

static void *serve(void *unused)
{
    uint64_t idle = SHORT_NS;
    (void)unused;
    is_host_thread = true;
    vf_take_part();
    pthread_mutex_lock(&host.lock);
    host.sleeper = vf_clock_me();
    host.serving = true;
    pthread_cond_broadcast(&host.work);
    pthread_mutex_unlock(&host.lock);
    for (;;) {
        uint64_t sleep_ns;
        struct job *left = pass(take_jobs(), idle, &sleep_ns);
        give_back(left);
        if (sleep_ns && left)
            vf_sleep_ns(sleep_ns);
        idle = sleep_ns == 0 ? SHORT_NS : idle * 2 < LONG_NS ? idle * 2
                                                             : LONG_NS;
    }
    return NULL;
}

static void start_thread(void)
{
    pthread_t thread;
    sigset_t all, before;
    if (!host.watching)
        pthread_atfork(NULL, NULL, after_fork);
    host.watching = true;
    host.last = &host.first;
    sigfillset(&all); /* a program's signals are not for us */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    host.running = pthread_create(&thread, NULL, serve, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!host.running)
        return;
    pthread_detach(thread);
    while (!host.serving) /* it takes part in time before we go on */
        pthread_cond_wait(&host.work, &host.lock);
}

void vf_host_thread_call(struct vf_lane *lane, uint64_t number)
{
    struct job *job = malloc(sizeof *job);
    if (!job)
        abort();
    *job = (struct job){NULL, lane, number};
    pthread_mutex_lock(&host.lock);
    if (!host.running)
        start_thread();
    *host.last = job;
    host.last = &job->next;
    vf_rouse(host.sleeper);
    pthread_cond_signal(&host.work);
    pthread_mutex_unlock(&host.lock);
}
