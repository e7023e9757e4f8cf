/*
 * cuMemCreate and its handles. A chunk lives as long as a handle or a mapping
 * does; it takes the card's bytes at creation, host memory takes none. What
 * was imported from another process takes none either: its maker pays.
 * Chunks that can be exported are memory files of their own, all others parts
 * of one file, so that a program may have thousands.
 */
#include "forget.h"
#include "vmm.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARENA_BYTES (1ULL << 46)

static int arena = -1;
static uint64_t arena_end;

int vf_chunk_file(const struct vf_chunk *chunk)
{
    return chunk->fd >= 0 ? chunk->fd : arena;
}

struct vf_chunk *vf_chunk_new(uint64_t size, CUdevice device, int fd)
{
    if (fd < 0 && arena < 0)
        arena = vf_share_make("arena", device, ARENA_BYTES);
    if (fd < 0 && (arena < 0 || size > ARENA_BYTES - arena_end))
        return NULL;
    struct vf_chunk *chunk = calloc(1, sizeof *chunk);
    if (!chunk || !vf_handle_add(chunk, VF_HANDLE_CHUNK)) {
        free(chunk);
        return NULL;
    }
    chunk->size = size;
    chunk->device = device;
    chunk->fd = fd;
    chunk->handles = 1;
    if (fd < 0) {
        chunk->at = arena_end;
        arena_end += size;
    }
    return chunk;
}

struct vf_chunk *vf_chunk_of(CUmemGenericAllocationHandle handle)
{
    struct vf_chunk *chunk = (void *)(uintptr_t)handle;
    return vf_handle_is(chunk, VF_HANDLE_CHUNK) && chunk->handles ? chunk
                                                                  : NULL;
}

void vf_chunk_settle(struct vf_chunk *chunk)
{
    if (chunk->handles || chunk->uses)
        return;
    if (chunk->fd >= 0)
        close(chunk->fd);
    else /* the part of the file: its pages go back to the host */
        fallocate(arena, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t)chunk->at, (off_t)chunk->size);
    if (chunk->shared)
        vf_checkpoint_shares(-1);
    if (chunk->taken)
        vf_give(chunk->device, chunk->taken);
    vf_handle_drop(chunk);
    free(chunk);
}

/* What another process knows can't be moved away by a checkpoint. */
static void share_chunk(struct vf_chunk *chunk)
{
    if (!chunk->shared)
        vf_checkpoint_shares(1);
    chunk->shared = true;
}

static bool on_host(const CUmemLocation *location)
{
    return location->type == CU_MEM_LOCATION_TYPE_HOST ||
           location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
           location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

static CUresult check(const CUmemAllocationProp *prop)
{
    const unsigned known = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if ((unsigned)prop->requestedHandleTypes & ~known)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (on_host(&prop->location))
        return CUDA_SUCCESS;
    if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    return vf_device_card(prop->location.id) ? CUDA_SUCCESS
                                             : CUDA_ERROR_INVALID_DEVICE;
}

/* Lock held. */
static CUresult make(struct vf_chunk **out, uint64_t size,
                     const CUmemAllocationProp *prop)
{
    CUdevice device = on_host(&prop->location) ? -1 : prop->location.id;
    int fd = -1;
    if (device >= 0 && !vf_take(device, size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (prop->requestedHandleTypes)
        fd = vf_share_make("vmm", device, size);
    if (fd >= 0 || !prop->requestedHandleTypes)
        *out = vf_chunk_new(size, device, fd);
    if (*out) {
        (*out)->prop = *prop;
        (*out)->taken = device >= 0 ? size : 0;
        return CUDA_SUCCESS;
    }
    if (fd >= 0)
        close(fd);
    if (device >= 0)
        vf_give(device, size);
    return CUDA_ERROR_OPERATING_SYSTEM;
}

VF_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t size,
                               const CUmemAllocationProp *prop,
                               unsigned long long flags)
{
    struct vf_chunk *chunk = NULL;
    CUresult r = vf_enter_driver("cuMemCreate");
    if (r)
        return r;
    if (!out || size == 0 || size % VF_PAGE_BYTES || flags)
        return CUDA_ERROR_INVALID_VALUE;
    r = check(prop);
    if (r)
        return r;
    vf_memory_lock();
    r = make(&chunk, size, prop);
    vf_memory_unlock();
    if (r == CUDA_SUCCESS)
        *out = (uintptr_t)chunk;
    return r;
}

VF_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CUresult r = vf_enter_driver("cuMemRelease");
    if (r)
        return r;
    vf_memory_lock();
    struct vf_chunk *chunk = vf_chunk_of(handle);
    if (chunk) {
        chunk->handles--;
        vf_chunk_settle(chunk);
    }
    vf_memory_unlock();
    return chunk ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

VF_EXPORT CUresult cuMemRetainAllocationHandle(
    CUmemGenericAllocationHandle *out, void *at)
{
    CUresult r = vf_enter_driver("cuMemRetainAllocationHandle");
    if (r)
        return r;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    vf_memory_lock();
    struct vf_range *range = vf_range_at((uintptr_t)at);
    struct vf_chunk *chunk = range && range->kind == VF_RANGE_MAPPED
                                 ? range->owner : NULL;
    if (chunk) {
        chunk->handles++;
        *out = (uintptr_t)chunk;
    }
    vf_memory_unlock();
    return chunk ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

VF_EXPORT CUresult cuMemGetAllocationGranularity(
    size_t *out, const CUmemAllocationProp *prop,
    CUmemAllocationGranularity_flags option)
{
    CUresult r = vf_enter_driver("cuMemGetAllocationGranularity");
    if (r)
        return r;
    if (!out || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                 option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        return CUDA_ERROR_INVALID_VALUE;
    r = check(prop);
    if (r == CUDA_SUCCESS)
        *out = VF_PAGE_BYTES;
    return r;
}

VF_EXPORT CUresult cuMemGetAllocationPropertiesFromHandle(
    CUmemAllocationProp *out, CUmemGenericAllocationHandle handle)
{
    CUresult r = vf_enter_driver("cuMemGetAllocationPropertiesFromHandle");
    if (r)
        return r;
    vf_memory_lock();
    struct vf_chunk *chunk = vf_chunk_of(handle);
    if (chunk && out)
        *out = chunk->prop;
    vf_memory_unlock();
    return chunk && out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

VF_EXPORT CUresult cuMemExportToShareableHandle(
    void *out, CUmemGenericAllocationHandle handle,
    CUmemAllocationHandleType type, unsigned long long flags)
{
    CUresult r = vf_enter_driver("cuMemExportToShareableHandle");
    if (r)
        return r;
    vf_memory_lock();
    struct vf_chunk *chunk = vf_chunk_of(handle);
    int fd = -1;
    if (!out || flags || !chunk || chunk->fd < 0 ||
        type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        r = CUDA_ERROR_INVALID_VALUE;
    else if ((fd = fcntl(chunk->fd, F_DUPFD_CLOEXEC, 0)) < 0)
        r = CUDA_ERROR_OPERATING_SYSTEM;
    else
        share_chunk(chunk);
    vf_memory_unlock();
    if (r == CUDA_SUCCESS)
        *(int *)out = fd;
    return r;
}

struct twin {
    struct stat file;
    struct vf_chunk *found;
};

static void same_file(void *object, void *argument)
{
    struct vf_chunk *chunk = object;
    struct twin *twin = argument;
    struct stat file;
    if (chunk->fd >= 0 && !fstat(chunk->fd, &file) &&
        file.st_ino == twin->file.st_ino && file.st_dev == twin->file.st_dev)
        twin->found = chunk;
}

/* Lock held. In the process that made it: one more handle of the same. */
static struct vf_chunk *import(int fd, CUdevice device, uint64_t size)
{
    struct twin twin = {.found = NULL};
    if (!fstat(fd, &twin.file))
        vf_handles_each(VF_HANDLE_CHUNK, same_file, &twin);
    if (twin.found) {
        twin.found->handles++;
        return twin.found;
    }
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    struct vf_chunk *chunk = own < 0 ? NULL : vf_chunk_new(size, device, own);
    if (!chunk)
        return NULL;
    share_chunk(chunk);
    chunk->prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    chunk->prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    chunk->prop.location.type = device < 0 ? CU_MEM_LOCATION_TYPE_HOST
                                           : CU_MEM_LOCATION_TYPE_DEVICE;
    chunk->prop.location.id = device < 0 ? 0 : device;
    return chunk;
}

VF_EXPORT CUresult cuMemImportFromShareableHandle(
    CUmemGenericAllocationHandle *out, void *handle,
    CUmemAllocationHandleType type)
{
    int fd = (int)(intptr_t)handle;
    CUdevice device;
    uint64_t size;
    CUresult r = vf_enter_driver("cuMemImportFromShareableHandle");
    if (r)
        return r;
    if (!out || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        !vf_share_read(fd, "vmm", &device, &size))
        return CUDA_ERROR_INVALID_VALUE;
    vf_memory_lock();
    struct vf_chunk *chunk = import(fd, device, size);
    vf_memory_unlock();
    if (!chunk)
        return CUDA_ERROR_OPERATING_SYSTEM;
    *out = (uintptr_t)chunk;
    return CUDA_SUCCESS;
}

void vf_chunks_forget(void)
{
    if (arena >= 0) /* the parent's file: a page of it would be shared */
        close(arena);
    arena = -1;
    arena_end = 0;
}
