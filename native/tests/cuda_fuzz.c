/*
 * Many processes use a card at random near the limit of their slice: they
 * take and give memory of every class, fork, end, and are killed (-9).
 *   cuda_fuzz <seed> <processes> <steps>     region by VXPU_REGION_DIR
 *
 * Each knows by the published rules what it is charged and compares that with
 * its own slot (uneven). The board says what all surely hold: written after
 * a success and before a free, and the dead are taken off it under its lock,
 * so its total is above the limit only if the limiter gave too much (over).
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_fuzz_classes.h"
#include "vxpu/abi.h"

enum { CELLS = 16, PIECES = 12, LIFE = 400, COMPARE_EVERY = 16 };

struct cell {
    _Atomic pid_t pid;
    uint64_t held;
};

static struct board {
    _Atomic bool locked, stop;
    _Atomic uint64_t steps, got, refused, forks, uneven, over, odd;
    uint64_t total, limit, kills, crashed, ends;
    struct cell cell[CELLS];
} *board;

static const struct vx_usage *usage;
static struct cell *me;

static void lock(void)
{
    while (atomic_exchange(&board->locked, true))
        sched_yield();
}

static void unlock(void)
{
    atomic_store(&board->locked, false);
}

static void hold(int64_t bytes)
{
    lock();
    me->held += (uint64_t)bytes;
    board->total += (uint64_t)bytes;
    if (board->total > board->limit)
        board->over++;
    unlock();
}

/*
 * Our slot says the same, context aside. It is found by our pid; a dead one
 * that had the same pid may not have been swept yet, so any of them may.
 */
static bool slot_says(uint64_t bytes)
{
    for (int i = 0; i < VX_MAX_SLOTS; i++) {
        const struct vx_slot *s = &usage->slot[i];
        if (s->state == VX_SLOT_LIVE && s->ns_pid == (uint64_t)getpid() &&
            s->device[0].used_bytes + s->device[0].spill_bytes == bytes)
            return true;
    }
    return false;
}

/* What it was that did not agree, for who looks into it. */
static void tell_uneven(uint64_t bytes)
{
    board->uneven++;
    for (int i = 0; i < VX_MAX_SLOTS; i++) {
        const struct vx_slot *s = &usage->slot[i];
        if (s->state != VX_SLOT_FREE && s->ns_pid == (uint64_t)getpid())
            fprintf(stderr, "%d holds %lu; slot %d: used %lu spill %lu\n",
                    (int)getpid(), bytes, i, s->device[0].used_bytes,
                    s->device[0].spill_bytes);
    }
}

static void one_step(struct piece *pieces)
{
    struct piece *p = &pieces[roll(PIECES)];
    if (p->bytes) {
        hold(-(int64_t)p->bytes);
        if (give(p) != CUDA_SUCCESS)
            board->odd++;
        p->bytes = 0;
        return;
    }
    CUresult err = take(p);
    if (err == CUDA_SUCCESS) {
        hold((int64_t)p->bytes);
        board->got++;
        return;
    }
    p->bytes = 0;
    if (err == CUDA_ERROR_OUT_OF_MEMORY)
        board->refused++;
    else
        board->odd++;
}

/* A child of a child: the parent's pointers are nothing to it. */
static void fork_once(const struct piece *pieces)
{
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < PIECES; i++)
            if (pieces[i].bytes && pieces[i].class == 0)
                cuMemFree_v2(pieces[i].value);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    board->forks++;
}

static int live(void)
{
    struct piece pieces[PIECES] = {{0}};
    if (!open_card())
        return 0; /* no room for a context: as good an end as any */
    for (int i = 0; i < LIFE && !board->stop; i++) {
        one_step(pieces);
        board->steps++;
        uint64_t mine = 0;
        for (int k = 0; k < PIECES; k++)
            mine += pieces[k].bytes;
        if (i % COMPARE_EVERY == 0 && !slot_says(mine))
            tell_uneven(mine);
        if (roll(200) == 0)
            fork_once(pieces);
    }
    hold(-(int64_t)me->held); /* others may have it as soon as we are gone */
    return 0;
}

static void start(int index, unsigned number)
{
    struct cell *c = &board->cell[index];
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(0);
        me = c;
        seed = number * 2654435761u + 1;
        _exit(live());
    }
    c->pid = pid;
}

/* Takes a dead one off the board; the lock is held. */
static void bury(struct cell *c)
{
    board->total -= c->held;
    c->held = 0;
    c->pid = 0;
}

static void kill_one(struct cell *c)
{
    lock();
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    bury(c);
    board->kills++;
    unlock();
}

/* Those that ended by themselves have taken their own off. */
static void reap_ended(void)
{
    for (int i = 0; i < CELLS; i++) {
        int status;
        struct cell *c = &board->cell[i];
        siginfo_t info = {0};
        if (!c->pid || waitid(P_PID, (id_t)c->pid, &info,
                              WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
            continue;
        lock();
        waitpid(c->pid, &status, 0);
        board->crashed += status != 0;
        board->ends++;
        bury(c);
        unlock();
    }
}

static void rule(int processes, uint64_t steps)
{
    unsigned number = seed;
    while (board->steps < steps) {
        reap_ended();
        for (int i = 0; i < processes; i++)
            if (!board->cell[i].pid)
                start(i, number++);
        usleep(2000);
        if (roll(8) == 0)
            kill_one(&board->cell[roll((unsigned)processes)]);
    }
    board->stop = true;
    for (int i = 0; i < processes; i++)
        if (board->cell[i].pid)
            kill_one(&board->cell[i]);
}

static void open_region(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/usage", getenv("VXPU_REGION_DIR"));
    int fd = open(path, O_RDONLY);
    usage = mmap(NULL, sizeof *usage, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    snprintf(path, sizeof path, "%s/limits", getenv("VXPU_REGION_DIR"));
    fd = open(path, O_RDONLY);
    const struct vx_limits *l = mmap(NULL, sizeof *l, PROT_READ, MAP_SHARED,
                                     fd, 0);
    close(fd);
    board->limit = l->device[0].limit_bytes;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    seed = (unsigned)atoi(argv[1]) * 7919u + 1;
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    open_region();
    rule(atoi(argv[2]), strtoull(argv[3], NULL, 0));
    printf("steps=%lu got=%lu refused=%lu forks=%lu kills=%lu ends=%lu "
           "over=%lu uneven=%lu odd=%lu crashed=%lu\n",
           board->steps, board->got, board->refused, board->forks,
           board->kills, board->ends, board->over, board->uneven, board->odd,
           board->crashed);
    return 0;
}
