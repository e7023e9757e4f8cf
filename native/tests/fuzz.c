/*
 * Many processes reserve, refund, fork, end and are killed (-9) at random,
 * near the limit. Usage: fuzz <seed> <processes> <steps>; the region by
 * VXPU_REGION_DIR.
 *
 * The board says what each process surely holds: it is written after a
 * reserve and before a refund, and the dead are taken off it under its lock,
 * before a newcomer who got their bytes can write there. So its total is at
 * most what the ledger gave away, and above the limit only if that was.
 */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "session.h"

enum { CELLS = 64, PIECES = 6, GRANULE = 4096, LARGEST = 12, TICK_NS = 500000 };
enum { KILL_EVERY = 2, CHECK_EVERY = 100, PATIENCE = 4000 };

struct cell {
    _Atomic pid_t pid;
    _Atomic bool rests;
    uint64_t held;
};

static struct board {
    _Atomic bool locked, pause, stop;
    _Atomic uint64_t steps, got, refused, forks, ends;
    uint64_t total, limit, over, kills, crashed, checks, uneven;
    struct cell cell[CELLS];
} *board;

static void lock(void)
{
    while (atomic_exchange(&board->locked, true))
        sched_yield();
}

static void unlock(void)
{
    atomic_store(&board->locked, false);
}

/* Marsaglia's xorshift64. */
static uint64_t roll(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    return *seed ^= *seed << 17;
}

/* ---- a worker ---- */

static struct cell *take_cell(void)
{
    struct cell *mine = NULL;
    lock();
    for (int i = 0; i < CELLS && !mine && !board->stop; i++)
        if (board->cell[i].pid == 0)
            mine = &board->cell[i];
    if (mine)
        *mine = (struct cell){.pid = getpid()};
    unlock();
    return mine;
}

static void add(struct cell *me, uint64_t bytes)
{
    lock();
    me->held += bytes;
    board->total += bytes;
    if (board->total > board->limit)
        board->over++;
    unlock();
}

static void take_off(struct cell *me, uint64_t bytes)
{
    lock();
    me->held -= bytes;
    board->total -= bytes;
    unlock();
}

static void leave(struct cell *me)
{
    lock();
    board->total -= me->held;
    me->pid = 0;
    unlock();
    atomic_fetch_add(&board->ends, 1);
}

static void change(struct cell *me, uint64_t *piece, uint64_t *seed)
{
    if (*piece) {
        take_off(me, *piece);
        vx_session_refund(0, VX_MEMORY_DEVICE, *piece);
        *piece = 0;
        return;
    }
    uint64_t bytes = (1 + roll(seed) % LARGEST) * GRANULE;
    if (vx_session_reserve(0, VX_MEMORY_DEVICE, bytes)) {
        *piece = bytes;
        add(me, bytes);
        atomic_fetch_add(&board->got, 1);
    } else {
        atomic_fetch_add(&board->refused, 1);
    }
}

static void rest(struct cell *me)
{
    while (atomic_load(&board->pause)) {
        atomic_store(&me->rests, true);
        vx_sleep_ns(TICK_NS);
    }
    atomic_store(&me->rests, false);
}

static struct cell *begin(uint64_t *piece, uint64_t *seed)
{
    /* After a fork: what the parent holds is the parent's. */
    memset(piece, 0, PIECES * sizeof *piece);
    *seed ^= (uint64_t)getpid();
    return vx_session_open() ? take_cell() : NULL;
}

static _Noreturn void work(uint64_t seed)
{
    uint64_t piece[PIECES];
    signal(SIGCHLD, SIG_IGN);
    for (struct cell *me = begin(piece, &seed); me;) {
        rest(me);
        atomic_fetch_add(&board->steps, 1);
        uint64_t what = roll(&seed) % 1024;
        if (what < 4 && fork() == 0) {
            atomic_fetch_add(&board->forks, 1);
            me = begin(piece, &seed);
        } else if (what == 4 || what == 5) {
            leave(me);
            me = NULL;
            raise(what == 4 ? SIGKILL : SIGCONT);
        } else {
            change(me, &piece[roll(&seed) % PIECES], &seed);
            if (what % 4 == 0)
                sched_yield();
        }
    }
    _exit(0);
}

/* ---- the parent of all ---- */

/* The caller holds the lock, so the victim is nowhere on the board. */
static void strike(struct cell *victim)
{
    int fd = (int)syscall(SYS_pidfd_open, victim->pid, 0);
    struct pollfd dead = {.fd = fd, .events = POLLIN};
    /* Nobody ends but by our hand or by `leave`. */
    if (fd < 0 || poll(&dead, 1, 0) > 0)
        board->crashed++;
    kill(victim->pid, SIGKILL);
    poll(&dead, 1, -1);
    close(fd);
    board->total -= victim->held;
    victim->pid = 0;
    board->kills++;
}

static void kill_one(uint64_t *seed)
{
    uint64_t first = roll(seed);
    lock();
    for (unsigned i = 0; i < CELLS; i++) {
        struct cell *victim = &board->cell[(first + i) % CELLS];
        if (victim->pid) {
            strike(victim);
            break;
        }
    }
    unlock();
}

static unsigned living(bool at_rest)
{
    unsigned count = 0;
    for (int i = 0; i < CELLS; i++)
        count += board->cell[i].pid != 0 &&
                 !(at_rest && atomic_load(&board->cell[i].rests));
    return count;
}

/* At rest the ledger holds what the board says, to the byte. */
static void check(void)
{
    bool even = false;
    board->checks++;
    for (int i = 0; i < PATIENCE && !even; i++) {
        vx_sleep_ns(TICK_NS);
        vx_session_reserve(0, VX_MEMORY_DEVICE, board->limit + GRANULE); /* sweeps the dead */
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        even = living(true) == 0 &&
               vx_session_free_bytes(0) == board->limit - board->total;
    }
    board->uneven += !even;
}

static void run(unsigned procs, uint64_t steps, uint64_t seed)
{
    for (uint64_t turn = 1; atomic_load(&board->steps) < steps; turn++) {
        if (living(false) < procs && fork() == 0)
            work(roll(&seed));
        roll(&seed);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        vx_sleep_ns(TICK_NS);
        if (turn % KILL_EVERY == 0)
            kill_one(&seed);
        if (turn % CHECK_EVERY == 0) {
            atomic_store(&board->pause, true);
            check();
            atomic_store(&board->pause, false);
        }
    }
}

static void end_all(void)
{
    lock();
    atomic_store(&board->stop, true);
    for (int i = 0; i < CELLS; i++)
        if (board->cell[i].pid)
            strike(&board->cell[i]);
    unlock();
    while (wait(NULL) > 0)
        ;
    check();
}

int main(int argc, char **argv)
{
    if (argc < 4 || !vx_session_open())
        return 3;
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    board->limit = atomic_load(&vx_session_limits(0)->limit_bytes);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    run((unsigned)atoi(argv[2]), strtoull(argv[3], NULL, 10),
        0x9e3779b97f4a7c15ULL ^ strtoull(argv[1], NULL, 10));
    end_all();
    printf("steps=%llu got=%llu refused=%llu forks=%llu ends=%llu ",
           (unsigned long long)board->steps, (unsigned long long)board->got,
           (unsigned long long)board->refused, (unsigned long long)board->forks,
           (unsigned long long)board->ends);
    printf("kills=%llu checks=%llu over=%llu uneven=%llu crashed=%llu "
           "left=%llu\n", (unsigned long long)board->kills,
           (unsigned long long)board->checks, (unsigned long long)board->over,
           (unsigned long long)board->uneven,
           (unsigned long long)board->crashed,
           (unsigned long long)(board->limit - vx_session_free_bytes(0)));
    return 0;
}
