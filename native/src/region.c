#include "region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

static bool others_may_write(const struct stat *st)
{
    return (st->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

/* Opens the region's folder; fails unless root or we ourselves own it. */
static int open_folder(const char *path, uid_t *owner)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct stat st;
    if (fstat(fd, &st) != 0 || (st.st_uid != 0 && st.st_uid != getuid()) ||
        others_may_write(&st)) {
        close(fd);
        return -EPERM;
    }
    *owner = st.st_uid;
    return fd;
}

/*
 * The fixed path by real uid; the developer's one only where the first does
 * not exist at all, so that a slice can never prefer a region of its own.
 */
static int find_folder(struct vx_region *r, uid_t *owner)
{
#ifdef VX_TESTING
    const char *forced = getenv("VXPU_REGION_DIR");
    if (forced) {
        snprintf(r->path, sizeof r->path, "%s", forced);
        return open_folder(r->path, owner);
    }
#endif
    unsigned long uid = (unsigned long)getuid();
    snprintf(r->path, sizeof r->path, VX_REGION_ROOT "/%lu", uid);
    int fd = open_folder(r->path, owner);
    if (fd != -ENOENT)
        return fd;
    snprintf(r->path, sizeof r->path, VX_DEV_REGION_PREFIX "%lu", uid);
    return open_folder(r->path, owner);
}

static int open_file(int folder, const char *name, int flags, struct stat *st)
{
    int fd = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (fstat(fd, st) != 0 || !S_ISREG(st->st_mode)) {
        close(fd);
        return -EINVAL;
    }
    return fd;
}

static void *map_file(int fd, size_t size, int protection)
{
    void *p = mmap(NULL, size, protection, MAP_SHARED, fd, 0);
    close(fd);
    return p == MAP_FAILED ? NULL : p;
}

static int map_limits(struct vx_region *r, int folder, uid_t folder_owner)
{
    struct stat st;
    int fd = open_file(folder, "limits", O_RDONLY, &st);
    if (fd < 0)
        return fd;
    bool trusted = (st.st_uid == 0 || st.st_uid == folder_owner) &&
                   !others_may_write(&st);
    if (!trusted || st.st_size != (off_t)sizeof(struct vx_limits)) {
        close(fd);
        return trusted ? -EINVAL : -EPERM;
    }
    r->limits = map_file(fd, sizeof(struct vx_limits), PROT_READ);
    if (!r->limits)
        return -ENOMEM;
    const struct vx_limits *l = r->limits;
    if (atomic_load(&l->magic) != VX_LIMITS_MAGIC ||
        atomic_load(&l->version) != VX_ABI_VERSION ||
        atomic_load(&l->file_bytes) != sizeof(struct vx_limits) ||
        atomic_load(&l->slot_count) != VX_MAX_SLOTS ||
        atomic_load(&l->device_count) == 0 ||
        atomic_load(&l->device_count) > VX_MAX_DEVICES)
        return -EINVAL;
    return 0;
}

static int map_usage(struct vx_region *r, int folder)
{
    struct stat st;
    int fd = open_file(folder, "usage", O_RDWR, &st);
    if (fd < 0)
        return fd;
    if (st.st_size != (off_t)sizeof(struct vx_usage)) {
        close(fd);
        return -EINVAL;
    }
    r->usage = map_file(fd, sizeof(struct vx_usage), PROT_READ | PROT_WRITE);
    if (!r->usage)
        return -ENOMEM;
    if (atomic_load(&r->usage->magic) != VX_USAGE_MAGIC ||
        atomic_load(&r->usage->version) != VX_ABI_VERSION)
        return -EINVAL;
    return 0;
}

/*
 * Out of the way of guests that close or renumber low descriptors (shells,
 * daemons); still found lost by vx_slots_keep when they close all of them.
 */
static int move_high(int fd)
{
    struct rlimit limit;
    int floor = 500;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= 512)
        floor = (int)limit.rlim_cur - 8;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, floor > 3 ? floor : 3);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

static int adopt_lock(struct vx_region *r, int folder)
{
    struct stat st;
    int fd = open_file(folder, "lock", O_RDWR, &st);
    if (fd < 0)
        return fd;
    r->lock_fd = move_high(fd);
    r->lock_dev = st.st_dev;
    r->lock_ino = st.st_ino;
    return 0;
}

int vx_region_open_lock(struct vx_region *r)
{
    uid_t owner;
    int folder = open_folder(r->path, &owner);
    if (folder < 0)
        return folder;
    int err = adopt_lock(r, folder);
    close(folder);
    return err;
}

static void unmap(struct vx_region *r)
{
    if (r->limits)
        munmap((void *)(uintptr_t)r->limits, sizeof *r->limits);
    if (r->usage)
        munmap(r->usage, sizeof *r->usage);
    r->limits = NULL;
    r->usage = NULL;
}

int vx_region_open(struct vx_region *r)
{
    uid_t owner;
    r->lock_fd = -1;
    r->slot = -1;
    int folder = find_folder(r, &owner);
    int err = folder < 0 ? folder : map_limits(r, folder, owner);
    if (err == 0)
        err = map_usage(r, folder);
    if (err == 0)
        err = adopt_lock(r, folder);
    if (folder >= 0)
        close(folder);
    if (err != 0) {
        vx_log(1, "no usable region at %s: errno %d", r->path, -err);
        unmap(r);
    }
    return err;
}
