#include "card.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

_Static_assert(VF_PROCESSES == VF_ENGINE_PROCESSES, "one queue a process");
_Static_assert((int)VF_KNOB_COUNT <= VF_KNOB_ROOM, "room for all knobs");

/*
 * One descriptor a card for the life of the process: closing any descriptor
 * of the file would drop this process's lock on its own entry.
 */
static struct {
    struct vf_card *card;
    int fd;
    _Atomic int self; /* index of our entry + 1 */
} cards[VF_CARDS];
static _Atomic int found = -1;
static _Atomic uint64_t life = 1;
static pthread_mutex_t find_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct {
    const char *name;
    uint64_t value;
} knob_table[] = {
#define VF_KNOB(name, default_value) {#name, (uint64_t)(default_value)},
#include "knobs.def"
};

int vf_knob_find(const char *name)
{
    for (int i = 0; i < (int)VF_KNOB_COUNT; i++)
        if (strcmp(knob_table[i].name, name) == 0)
            return i;
    return -1;
}

const char *vf_knob_name(int knob) { return knob_table[knob].name; }

uint64_t vf_knob_default(int knob) { return knob_table[knob].value; }

const char *vf_folder(void)
{
    const char *folder = getenv("VXPU_FAKE_DIR");
    return folder && folder[0] ? folder : "/dev";
}

/* ---- finding them --------------------------------------------------------- */

static struct vf_card *map_card(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size != (off_t)sizeof(struct vf_card))
        return NULL;
    struct vf_card *card = mmap(NULL, sizeof *card, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (card == MAP_FAILED)
        return NULL;
    if (card->magic == VF_MAGIC && card->version == VF_VERSION)
        return card;
    munmap(card, sizeof *card);
    return NULL;
}

/*
 * Low numbers are a program's own: it may close or replace them. They are
 * filled for the moment rather than left after a dup: closing a descriptor of
 * the file drops the locks that the other library has on it.
 */
int vf_open_high(const char *path)
{
    int filler[128], count = 0;
    int null = open("/dev/null", O_PATH | O_CLOEXEC);
    while (null >= 0 && count < 128) {
        filler[count] = fcntl(null, F_DUPFD_CLOEXEC, 0);
        if (filler[count] < 0 || filler[count] >= 128)
            break;
        count++;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (null >= 0 && count < 128 && filler[count] >= 0)
        close(filler[count]);
    while (count > 0)
        close(filler[--count]);
    if (null >= 0)
        close(null);
    return fd;
}

static void after_fork(void)
{
    atomic_fetch_add(&life, 1);
    for (int i = 0; i < VF_CARDS; i++)
        atomic_store(&cards[i].self, 0);
    pthread_mutex_init(&find_lock, NULL);
}

static int find_cards(void)
{
    int count = 0;
    for (int n = 0; n < VF_CARDS; n++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/" VF_CARD_NAME "%d", vf_folder(), n);
        int fd = vf_open_high(path);
        struct vf_card *card = fd < 0 ? NULL : map_card(fd);
        if (card) {
            cards[count].card = card;
            cards[count++].fd = fd;
        } else if (fd >= 0) {
            close(fd);
        }
    }
    pthread_atfork(NULL, NULL, after_fork);
    return count;
}

int vf_count(void)
{
    int count = atomic_load(&found);
    if (count >= 0)
        return count;
    pthread_mutex_lock(&find_lock);
    count = atomic_load(&found);
    if (count < 0) {
        count = find_cards();
        atomic_store(&found, count);
    }
    pthread_mutex_unlock(&find_lock);
    return count;
}

struct vf_card *vf_card(int physical)
{
    return physical >= 0 && physical < vf_count() ? cards[physical].card : NULL;
}

int vf_index(const struct vf_card *card)
{
    for (int i = 0; i < VF_CARDS; i++)
        if (cards[i].card == card)
            return i;
    return -1;
}

uint64_t vf_life(void) { return atomic_load(&life); }

/* ---- the lock --------------------------------------------------------------- */

/* Counts may be half written: the sum is what the processes have. */
static void repair(struct vf_card *card)
{
    uint64_t sum = 0;
    for (int i = 0; i < VF_PROCESSES; i++)
        if (card->processes[i].state == VF_LIVE)
            sum += card->processes[i].memory_bytes;
    card->memory_used = sum;
    pthread_mutex_consistent(&card->lock);
}

void vf_lock(struct vf_card *card)
{
    if (pthread_mutex_lock(&card->lock) == EOWNERDEAD)
        repair(card);
}

void vf_unlock(struct vf_card *card) { pthread_mutex_unlock(&card->lock); }

/* ---- processes ------------------------------------------------------------------ */

static bool lock_entry(int fd, int index)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET,
                      .l_start = index, .l_len = 1};
    return fcntl(fd, F_SETLK, &l) == 0;
}

static pid_t entry_holder(int fd, int index)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET,
                      .l_start = index, .l_len = 1};
    if (fcntl(fd, F_GETLK, &l) != 0)
        return 0;
    return l.l_type == F_UNLCK ? -1 : l.l_pid;
}

static uint64_t own_pid_namespace(void)
{
    static _Atomic uint64_t known, known_life; /* one never changes its own */
    struct stat st;
    if (atomic_load(&known_life) != vf_life()) {
        atomic_store(&known, stat("/proc/self/ns/pid", &st) == 0
                                 ? (uint64_t)st.st_ino : 0);
        atomic_store(&known_life, vf_life());
    }
    return atomic_load(&known);
}

/*
 * Our own lock does not show: a process does not stand in its own way. Two
 * slices may have a process of the same number, each in a namespace.
 */
static bool is_ours(const struct vf_process *process)
{
    return process->pid == (int32_t)getpid() &&
           process->pid_ns == own_pid_namespace();
}

pid_t vf_process_pid(struct vf_card *card, int index)
{
    struct vf_process *process = &card->processes[index];
    if (atomic_load(&process->state) != VF_LIVE)
        return -1;
    pid_t pid = entry_holder(cards[vf_index(card)].fd, index);
    return pid == -1 && is_ours(process) ? getpid() : pid;
}

static void clear_entry(struct vf_card *card, int index)
{
    struct vf_process *process = &card->processes[index];
    uint64_t bytes = process->memory_bytes;
    vf_nvml_end(card, index);
    process->memory_bytes = 0;
    card->memory_used = card->memory_used > bytes ? card->memory_used - bytes
                                                  : 0;
    process->contexts = 0;
    atomic_store(&card->memory.spilled[index], 0);
    atomic_store(&card->memory.managed[index], 0);
    vf_queue_clear(card, index);
    atomic_store(&process->state, VF_FREE);
}

static void reap_locked(struct vf_card *card)
{
    int fd = cards[vf_index(card)].fd;
    for (int i = 0; i < VF_PROCESSES; i++) {
        struct vf_process *process = &card->processes[i];
        if (process->state == VF_LIVE && !is_ours(process) &&
            entry_holder(fd, i) == -1)
            clear_entry(card, i);
    }
}

void vf_reap_due(struct vf_card *card, uint64_t now)
{
    if (now - card->engine.reaped_ns < VF_REAP_NS)
        return;
    card->engine.reaped_ns = now;
    reap_locked(card);
}

void vf_reap(struct vf_card *card)
{
    vf_lock(card);
    reap_locked(card);
    vf_unlock(card);
}

static void fill_entry(struct vf_process *process)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    process->pid = (int32_t)getpid();
    process->pid_ns = own_pid_namespace();
    process->start_ns = (uint64_t)t.tv_sec * 1000000000ULL +
                        (uint64_t)t.tv_nsec;
    memset(process->name, 0, sizeof process->name);
    int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, process->name,
                                     sizeof process->name - 1);
    if (fd >= 0)
        close(fd);
    if (size > 0 && process->name[size - 1] == '\n')
        process->name[size - 1] = '\0';
    atomic_fetch_add(&process->generation, 1);
}

static int claim_entry(struct vf_card *card, int fd)
{
    for (int i = 0; i < VF_PROCESSES; i++) {
        struct vf_process *process = &card->processes[i];
        if (process->state != VF_FREE || !lock_entry(fd, i))
            continue;
        vf_queue_clear(card, i);
        process->memory_bytes = 0;
        fill_entry(process);
        vf_nvml_begin(card, i);
        if (card->engine.high <= (uint32_t)i)
            card->engine.high = (uint32_t)i + 1;
        atomic_store(&process->state, VF_LIVE);
        return i;
    }
    return -1;
}

static int enter(struct vf_card *card, int place)
{
    vf_lock(card);
    int index = atomic_load(&cards[place].self) - 1;
    if (index < 0) {
        index = claim_entry(card, cards[place].fd);
        if (index < 0) {
            reap_locked(card);
            index = claim_entry(card, cards[place].fd);
        }
        atomic_store(&cards[place].self, index + 1);
    }
    vf_unlock(card);
    return index;
}

int vf_self_index(const struct vf_card *card)
{
    int place = vf_index(card);
    return place < 0 ? -1 : atomic_load(&cards[place].self) - 1;
}

struct vf_process *vf_self(struct vf_card *card)
{
    int place = vf_index(card);
    if (place < 0)
        return NULL;
    int index = atomic_load_explicit(&cards[place].self,
                                     memory_order_acquire) - 1;
    if (index < 0)
        index = enter(card, place);
    return index < 0 ? NULL : &card->processes[index];
}

/* ---- memory ------------------------------------------------------------------------ */

static bool take_locked(struct vf_card *card, struct vf_process *me,
                        uint64_t bytes)
{
    uint64_t used = card->memory_used, total = card->identity.memory_bytes;
    if (bytes > total || used > total - bytes ||
        !vf_nvml_room(card, vf_self_index(card), bytes))
        return false;
    me->memory_bytes += bytes;
    card->memory_used = used + bytes;
    return true;
}

bool vf_mem_take(struct vf_card *card, uint64_t bytes)
{
    struct vf_process *me = vf_self(card);
    if (!me)
        return false;
    vf_checkpoint_wait(card);
    vf_lock(card);
    bool taken = take_locked(card, me, bytes);
    if (!taken) {
        reap_locked(card);
        taken = take_locked(card, me, bytes);
    }
    vf_unlock(card);
    return taken;
}

void vf_mem_give(struct vf_card *card, uint64_t bytes)
{
    int index = vf_self_index(card);
    if (index < 0)
        return;
    struct vf_process *me = &card->processes[index];
    vf_lock(card);
    if (bytes > me->memory_bytes)
        bytes = me->memory_bytes;
    me->memory_bytes -= bytes;
    card->memory_used -= bytes;
    vf_unlock(card);
}
