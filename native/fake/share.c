#include "share.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t host_uuid[16]; /* of host memory: all zero */

static const uint8_t *uuid_of(CUdevice device)
{
    return device < 0 ? host_uuid : vf_device_card(device)->identity.uuid;
}

static void name_of(char out[96], const char *kind, const uint8_t uuid[16])
{
    int length = snprintf(out, 96, "vxpu-fake-%s-", kind);
    for (int i = 0; i < 16; i++)
        length += snprintf(out + length, 96 - (size_t)length, "%02x", uuid[i]);
}

int vf_share_make(const char *kind, CUdevice device, uint64_t bytes)
{
    char name[96];
    name_of(name, kind, uuid_of(device));
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)bytes)) {
        close(fd);
        return -1;
    }
    return fd;
}

CUdevice vf_device_of_uuid(const uint8_t uuid[16])
{
    for (CUdevice i = 0; i < VF_CARDS && vf_device_card(i); i++)
        if (!memcmp(uuid, vf_device_card(i)->identity.uuid, 16))
            return i;
    return -1;
}

static bool read_uuid(const char *hex, uint8_t uuid[16])
{
    for (int i = 0; i < 16; i++) {
        unsigned byte;
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
            return false;
        uuid[i] = (uint8_t)byte;
    }
    return true;
}

bool vf_share_read(int fd, const char *kind, CUdevice *device, uint64_t *bytes)
{
    char path[48], link[160], start[64];
    uint8_t uuid[16];
    struct stat file;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, link, sizeof link - 1);
    if (length < 0 || fstat(fd, &file))
        return false;
    link[length] = 0;
    int skip = snprintf(start, sizeof start, "/memfd:vxpu-fake-%s-", kind);
    if (strncmp(link, start, (size_t)skip) || length < skip + 32 ||
        !read_uuid(link + skip, uuid))
        return false;
    *device = vf_device_of_uuid(uuid);
    *bytes = (uint64_t)file.st_size;
    return true;
}
