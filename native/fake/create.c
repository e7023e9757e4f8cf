/* Making the files of a folder of simulated cards. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "card.h"
#include "clock_file.h"

static void init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setpshared(&robust, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(lock, &robust);
    pthread_mutexattr_destroy(&robust);
}

/* A fresh zeroed file; who has an older one of that name keeps it. */
static void *make_file(const char *path, size_t size)
{
    unlink(path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return MAP_FAILED;
    void *at = MAP_FAILED;
    if (fchmod(fd, 0666) == 0 && ftruncate(fd, (off_t)size) == 0)
        at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int failed = errno;
    close(fd);
    errno = failed;
    return at;
}

int vf_clock_create(const char *folder, enum vf_clock_kind kind)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" VF_CLOCK_NAME, folder);
    struct clock_file *c = make_file(path, sizeof *c);
    if (c == MAP_FAILED)
        return -errno;
    init_lock(&c->lock);
    c->kind = kind;
    c->now_ns = VF_CLOCK_START_NS;
    atomic_thread_fence(memory_order_seq_cst);
    c->magic = VF_CLOCK_MAGIC;
    munmap(c, sizeof *c);
    return 0;
}

int vf_create(const char *folder, const struct vf_identity *identity)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" VF_CARD_NAME "%llu", folder,
             (unsigned long long)identity->index);
    struct vf_card *card = make_file(path, sizeof *card);
    if (card == MAP_FAILED)
        return -errno;
    card->version = VF_VERSION;
    card->bytes = sizeof *card;
    card->identity = *identity;
    for (int i = 0; i < (int)VF_KNOB_COUNT; i++)
        card->knobs[i] = vf_knob_default(i);
    init_lock(&card->lock);
    atomic_thread_fence(memory_order_seq_cst);
    card->magic = VF_MAGIC;
    munmap(card, sizeof *card);
    return 0;
}
