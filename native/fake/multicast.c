/*
 * Multicast: a handle that stands for the same bytes on a team of devices.
 * It takes nothing of a card itself; bound memory lives until it is unbound.
 * A mapping of it shows bytes of its own: stores are not spread to the team.
 */
#include <stdlib.h>

#include "forget.h"
#include "vmm.h"

struct binding {
    struct vf_chunk *group, *chunk; /* chunk NULL: bound by address */
    CUdevice device;
    uint64_t at, size;
    struct binding *next;
};
static struct binding *bindings;

static CUresult check(const CUmulticastObjectProp *prop)
{
    const unsigned long long known = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (!prop || prop->numDevices == 0 || prop->numDevices > VF_CARDS ||
        prop->size == 0 || prop->size % VF_PAGE_BYTES || prop->flags)
        return CUDA_ERROR_INVALID_VALUE;
    return prop->handleTypes & ~known ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

VF_EXPORT CUresult cuMulticastCreate(CUmemGenericAllocationHandle *out,
                                     const CUmulticastObjectProp *prop)
{
    CUresult r = vf_enter_driver("cuMulticastCreate");
    if (r == CUDA_SUCCESS)
        r = out ? check(prop) : CUDA_ERROR_INVALID_VALUE;
    if (r)
        return r;
    vf_memory_lock();
    struct vf_chunk *group = vf_chunk_new(prop->size, 0, -1);
    if (group)
        group->team_size = prop->numDevices;
    vf_memory_unlock();
    if (!group)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (uintptr_t)group;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuMulticastGetGranularity(
    size_t *out, const CUmulticastObjectProp *prop,
    CUmulticastGranularity_flags option)
{
    CUresult r = vf_enter_driver("cuMulticastGetGranularity");
    if (r)
        return r;
    if (!out || !prop || (option != CU_MULTICAST_GRANULARITY_MINIMUM &&
                          option != CU_MULTICAST_GRANULARITY_RECOMMENDED))
        return CUDA_ERROR_INVALID_VALUE;
    *out = VF_PAGE_BYTES;
    return CUDA_SUCCESS;
}

/* Lock held. */
static struct vf_chunk *group_of(CUmemGenericAllocationHandle handle)
{
    struct vf_chunk *group = vf_chunk_of(handle);
    return group && group->team_size ? group : NULL;
}

VF_EXPORT CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle handle,
                                        CUdevice device)
{
    CUresult r = vf_enter_device("cuMulticastAddDevice", device);
    if (r)
        return r;
    vf_memory_lock();
    struct vf_chunk *group = group_of(handle);
    uint64_t bit = 1ULL << device;
    if (!group || (group->team & bit) ||
        (unsigned)__builtin_popcountll(group->team) == group->team_size)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        group->team |= bit;
    vf_memory_unlock();
    return r;
}

/* Lock held. Every device of the team must have joined before. */
static CUresult bind(const struct binding *want)
{
    struct vf_chunk *group = want->group;
    if (!group || want->size == 0 || want->size % VF_PAGE_BYTES ||
        want->at % VF_PAGE_BYTES || want->size > group->size ||
        want->at > group->size - want->size || want->device < 0 ||
        !(group->team >> want->device & 1))
        return CUDA_ERROR_INVALID_VALUE;
    if ((unsigned)__builtin_popcountll(group->team) != group->team_size)
        return CUDA_ERROR_SYSTEM_NOT_READY;
    struct binding *new = malloc(sizeof *new);
    if (!new)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *new = *want;
    new->next = bindings;
    bindings = new;
    group->uses++;
    if (new->chunk)
        new->chunk->uses++;
    return CUDA_SUCCESS;
}

static CUresult bind_memory(const char *call, struct binding want,
                            CUmemGenericAllocationHandle group,
                            CUmemGenericAllocationHandle memory,
                            uint64_t offset, unsigned long long flags)
{
    CUresult r = vf_enter_driver(call);
    if (r)
        return r;
    vf_memory_lock();
    want.group = group_of(group);
    want.chunk = vf_chunk_of(memory);
    if (flags || !want.chunk || want.chunk->team_size ||
        offset % VF_PAGE_BYTES || offset > want.chunk->size ||
        want.size > want.chunk->size - offset)
        r = CUDA_ERROR_INVALID_VALUE;
    else if (want.device < 0)
        want.device = want.chunk->device;
    if (r == CUDA_SUCCESS)
        r = bind(&want);
    vf_memory_unlock();
    return r;
}

VF_EXPORT CUresult cuMulticastBindMem(CUmemGenericAllocationHandle group,
                                      size_t at,
                                      CUmemGenericAllocationHandle memory,
                                      size_t offset, size_t size,
                                      unsigned long long flags)
{
    const struct binding want = {.device = -1, .at = at, .size = size};
    return bind_memory("cuMulticastBindMem", want, group, memory, offset,
                       flags);
}

VF_EXPORT CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle group,
                                         CUdevice device, size_t at,
                                         CUmemGenericAllocationHandle memory,
                                         size_t offset, size_t size,
                                         unsigned long long flags)
{
    const struct binding want = {.device = device, .at = at, .size = size};
    if (!vf_device_card(device))
        return CUDA_ERROR_INVALID_DEVICE;
    return bind_memory("cuMulticastBindMem_v2", want, group, memory, offset,
                       flags);
}

static CUresult bind_address(const char *call, struct binding want,
                             CUmemGenericAllocationHandle group,
                             CUdeviceptr memory, unsigned long long flags)
{
    CUresult r = vf_enter_driver(call);
    if (r)
        return r;
    vf_memory_lock();
    struct vf_range *range = vf_range_at(memory);
    want.group = group_of(group);
    if (flags || !range || want.size > range->base + range->size - memory)
        r = CUDA_ERROR_INVALID_VALUE;
    else if (want.device < 0)
        want.device = range->device;
    if (r == CUDA_SUCCESS) {
        want.chunk = range->kind == VF_RANGE_MAPPED ? range->owner : NULL;
        r = bind(&want);
    }
    vf_memory_unlock();
    return r;
}

VF_EXPORT CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle group,
                                       size_t at, CUdeviceptr memory,
                                       size_t size, unsigned long long flags)
{
    const struct binding want = {.device = -1, .at = at, .size = size};
    return bind_address("cuMulticastBindAddr", want, group, memory, flags);
}

VF_EXPORT CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle group,
                                          CUdevice device, size_t at,
                                          CUdeviceptr memory, size_t size,
                                          unsigned long long flags)
{
    const struct binding want = {.device = device, .at = at, .size = size};
    if (!vf_device_card(device))
        return CUDA_ERROR_INVALID_DEVICE;
    return bind_address("cuMulticastBindAddr_v2", want, group, memory, flags);
}

VF_EXPORT CUresult cuMulticastUnbind(CUmemGenericAllocationHandle handle,
                                     CUdevice device, size_t at, size_t size)
{
    CUresult r = vf_enter_device("cuMulticastUnbind", device);
    if (r)
        return r;
    r = CUDA_ERROR_INVALID_VALUE;
    vf_memory_lock();
    struct vf_chunk *group = group_of(handle);
    for (struct binding **b = &bindings; group && *b; b = &(*b)->next) {
        struct binding *gone = *b;
        if (gone->group != group || gone->device != device ||
            gone->at != at || gone->size != size)
            continue;
        *b = gone->next;
        group->uses--;
        if (gone->chunk) {
            gone->chunk->uses--;
            vf_chunk_settle(gone->chunk);
        }
        free(gone);
        r = CUDA_SUCCESS;
        break;
    }
    vf_memory_unlock();
    return r;
}

void vf_multicast_forget(void)
{
    bindings = NULL;
}
