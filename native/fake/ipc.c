/*
 * CUDA IPC. A handle names an allocation of another process; opening it maps
 * as many bytes here, takes nothing of the card, and shows bytes of its own:
 * contents are not shared. A second open of one handle is the same address,
 * counted.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "share.h"

#define MEMORY_MAGIC 0x314d4350495846ULL
#define EVENT_MAGIC 0x31454350495846ULL

struct memory_handle { /* in CUipcMemHandle */
    uint64_t magic, base, size;
    uint8_t uuid[16];
    int32_t slot; /* of the exporter on the card */
    uint32_t generation;
    int32_t pid;
};

struct event_handle {
    uint64_t magic;
};

VF_EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr at)
{
    struct vf_range range;
    CUcontext context;
    CUresult r = vf_enter("cuIpcGetMemHandle", &context);
    if (r)
        return r;
    if (!out || !vf_describe(at, &range) || range.kind != VF_RANGE_PLAIN)
        return CUDA_ERROR_INVALID_VALUE;
    vf_memory_lock();
    struct vf_range *shared = vf_range_at(at);
    if (shared)
        vf_range_share(shared);
    vf_memory_unlock();
    struct vf_card *card = vf_device_card(range.device);
    struct vf_process *self = vf_self(card);
    struct memory_handle handle = {MEMORY_MAGIC, range.base, range.size, {0},
                                   vf_self_index(card), 0, (int32_t)getpid()};
    if (self)
        handle.generation = atomic_load(&self->generation);
    memcpy(handle.uuid, card->identity.uuid, 16);
    memset(out, 0, sizeof *out);
    memcpy(out, &handle, sizeof handle);
    vf_checkpoint_shares(1); /* another process may have it from now on */
    return CUDA_SUCCESS;
}

/* The exporter's entry on the card is still the one that it had. */
static bool exporter_lives(struct vf_card *card, const struct memory_handle *h)
{
    if (h->slot < 0 || h->slot >= VF_PROCESSES)
        return false;
    vf_reap(card);
    struct vf_process *process = &card->processes[h->slot];
    return atomic_load(&process->state) == VF_LIVE &&
           atomic_load(&process->generation) == h->generation;
}

/* Lock held: an open of the same handle, known by its exporter's address. */
static CUresult open_range(const struct memory_handle *handle,
                           CUcontext context, CUdevice device, uint64_t *out)
{
    struct vf_range *known = vf_range_opened(handle->base, handle->pid);
    if (known) {
        known->uses++;
        *out = known->base;
        return CUDA_SUCCESS;
    }
    struct vf_range range = {.size = handle->size, .kind = VF_RANGE_IPC,
                             .device = device, .context = context, .uses = 1,
                             .flags = (unsigned)handle->pid,
                             .owner = (void *)(uintptr_t)handle->base};
    range.mapped = vf_round_up(handle->size, 4096);
    void *at = vf_map(range.mapped, VF_PAGE_BYTES, PROT_READ | PROT_WRITE);
    range.base = (uintptr_t)at;
    if (!at || !vf_range_add(&range)) {
        if (at)
            vf_unmap(at, range.mapped);
        return CUDA_ERROR_MAP_FAILED;
    }
    *out = range.base;
    return CUDA_SUCCESS;
}

static CUresult open_memory(const char *call, CUdeviceptr *out,
                            const CUipcMemHandle *from, unsigned flags)
{
    struct memory_handle handle;
    CUcontext context;
    CUresult r = vf_enter_owner(call, &context);
    if (r)
        return r;
    memcpy(&handle, from, sizeof handle);
    if (!out || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS ||
        handle.magic != MEMORY_MAGIC || handle.size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUdevice device = vf_device_of_uuid(handle.uuid);
    if (device < 0)
        return CUDA_ERROR_INVALID_DEVICE;
    /* A process can't open what it exported itself. */
    if (handle.pid == getpid())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!exporter_lives(vf_device_card(device), &handle))
        return CUDA_ERROR_INVALID_HANDLE;
    uint64_t at = 0;
    vf_memory_lock();
    r = open_range(&handle, context, device, &at);
    vf_memory_unlock();
    if (r == CUDA_SUCCESS)
        *out = at;
    return r;
}

VF_EXPORT CUresult cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle,
                                      unsigned flags)
{
    return open_memory("cuIpcOpenMemHandle", out, &handle, flags);
}

VF_EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *out,
                                         CUipcMemHandle handle, unsigned flags)
{
    return open_memory("cuIpcOpenMemHandle_v2", out, &handle, flags);
}

void vf_ipc_close(struct vf_range *range)
{
    if (--range->uses == 0)
        vf_range_drop(range);
}

VF_EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr at)
{
    CUcontext context;
    CUresult r = vf_enter("cuIpcCloseMemHandle", &context);
    if (r)
        return r;
    vf_card_wait(vf_device_card(context->device));
    vf_memory_lock();
    struct vf_range *range = vf_range_from(at);
    if (range && range->kind == VF_RANGE_IPC)
        vf_ipc_close(range);
    else
        r = CUDA_ERROR_INVALID_VALUE;
    vf_memory_unlock();
    return r;
}

/* declared here: event.c exports it, and nothing else needs it */
CUresult cuEventCreate(CUevent *out, unsigned flags);

VF_EXPORT CUresult cuIpcGetEventHandle(CUipcEventHandle *out, CUevent event)
{
    const struct event_handle handle = {EVENT_MAGIC};
    CUcontext context;
    CUresult r = vf_enter("cuIpcGetEventHandle", &context);
    if (r)
        return r;
    if (!out || !event)
        return CUDA_ERROR_INVALID_VALUE;
    memset(out, 0, sizeof *out);
    memcpy(out, &handle, sizeof handle);
    return CUDA_SUCCESS;
}

/* The opened event is one of our own: it does not follow the other's. */
VF_EXPORT CUresult cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle from)
{
    struct event_handle handle;
    CUcontext context;
    CUresult r = vf_enter("cuIpcOpenEventHandle", &context);
    if (r)
        return r;
    memcpy(&handle, &from, sizeof handle);
    if (!out || handle.magic != EVENT_MAGIC)
        return CUDA_ERROR_INVALID_VALUE;
    return cuEventCreate(out, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
}
