/*
 * Memory of another API (Vulkan and the like), by descriptor. Its maker pays
 * for it: importing and mapping take nothing of the card. A mapping of a
 * regular or memory file shows that file's bytes, else bytes of its own.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"

struct CUexternalMemory_st {
    CUcontext context;
    uint64_t size;
    int fd;
};

VF_EXPORT CUresult cuImportExternalMemory(
    CUexternalMemory *out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)
{
    CUcontext context;
    CUresult r = vf_enter_owner("cuImportExternalMemory", &context);
    if (r)
        return r;
    if (!out || !desc || desc->size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (desc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD &&
        desc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct stat file;
    if (fstat(desc->handle.fd, &file))
        return CUDA_ERROR_INVALID_HANDLE;
    CUexternalMemory memory = malloc(sizeof *memory);
    if (!memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    /* From here on the descriptor is the driver's. */
    *memory = (struct CUexternalMemory_st){context, desc->size,
                                           desc->handle.fd};
    vf_memory_lock();
    bool added = vf_handle_add(memory, VF_HANDLE_EXTERNAL);
    vf_memory_unlock();
    *out = memory;
    return added ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void *map_bytes(CUexternalMemory memory, uint64_t offset, uint64_t size)
{
    struct stat file;
    bool shows = offset % 4096 == 0 && !fstat(memory->fd, &file) &&
                 S_ISREG(file.st_mode) &&
                 (uint64_t)file.st_size >= offset + size;
    if (!shows)
        return vf_map(size, 4096, PROT_READ | PROT_WRITE);
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd,
                    (off_t)offset);
    return at == MAP_FAILED ? NULL : at;
}

/* Lock held. */
static CUresult map_buffer(uint64_t *out, CUexternalMemory memory,
                           const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
    struct vf_range range = {.size = desc->size, .context = memory->context,
                             .device = memory->context->device,
                             .kind = VF_RANGE_EXTERNAL, .owner = memory};
    range.mapped = vf_round_up(desc->size, 4096);
    void *at = map_bytes(memory, desc->offset, desc->size);
    range.base = (uintptr_t)at;
    if (at && vf_range_add(&range)) {
        *out = range.base;
        return CUDA_SUCCESS;
    }
    if (at)
        vf_unmap(at, range.mapped);
    return CUDA_ERROR_MAP_FAILED;
}

VF_EXPORT CUresult cuExternalMemoryGetMappedBuffer(
    CUdeviceptr *out, CUexternalMemory memory,
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
    uint64_t at = 0;
    CUcontext context;
    CUresult r = vf_enter("cuExternalMemoryGetMappedBuffer", &context);
    if (r)
        return r;
    vf_memory_lock();
    if (!vf_handle_is(memory, VF_HANDLE_EXTERNAL))
        r = CUDA_ERROR_INVALID_HANDLE;
    else if (!out || !desc || desc->size == 0 || desc->flags ||
             desc->size > memory->size ||
             desc->offset > memory->size - desc->size)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        r = map_buffer(&at, memory, desc);
    vf_memory_unlock();
    if (r == CUDA_SUCCESS)
        *out = at;
    return r;
}

VF_EXPORT CUresult cuExternalMemoryGetMappedMipmappedArray(
    CUmipmappedArray *out, CUexternalMemory memory,
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *desc)
{
    CUcontext context;
    CUresult r =
        vf_enter("cuExternalMemoryGetMappedMipmappedArray", &context);
    if (r)
        return r;
    vf_memory_lock();
    if (!vf_handle_is(memory, VF_HANDLE_EXTERNAL))
        r = CUDA_ERROR_INVALID_HANDLE;
    else if (!out || !desc || desc->numLevels == 0 ||
             desc->numLevels > VF_MIPMAP_LEVELS ||
             vf_array_bytes(&desc->arrayDesc) == 0)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        r = vf_mipmap_new(out, &desc->arrayDesc, desc->numLevels,
                          memory->context, false);
    vf_memory_unlock();
    return r;
}

VF_EXPORT CUresult cuDestroyExternalMemory(CUexternalMemory memory)
{
    CUresult r = vf_enter_driver("cuDestroyExternalMemory");
    if (r)
        return r;
    vf_memory_lock();
    bool ours = vf_handle_is(memory, VF_HANDLE_EXTERNAL);
    if (ours) {
        vf_handle_drop(memory);
        close(memory->fd);
        free(memory);
    }
    vf_memory_unlock();
    return ours ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
