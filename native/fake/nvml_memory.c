/* NVML: memory of a card or an instance, and the limits of cgroups on it. */
#include <stdio.h>
#include <string.h>

#include "account.h"
#include "nvml_lib.h"

static uint64_t used_of(nvmlDevice_t device, struct vf_card *card)
{
    uint64_t used = 0;

    vf_reap(card);
    if (!nv_is_mig(device))
        return atomic_load(&card->memory_used);
    for (int i = 0; i < VF_PROCESSES; i++)
        if (card->nvml.processes[i].instance ==
            (uint32_t)device->instance + 1)
            used += atomic_load(&card->processes[i].memory_bytes);
    return used;
}

static uint64_t total_of(nvmlDevice_t device, struct vf_card *card)
{
    return nv_is_mig(device) ? vf_mig_bytes(card, nv_instance(device))
                             : card->identity.memory_bytes;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device,
                                               nvmlMemory_t *memory)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_any(__func__, device, memory, &card);

    if (code)
        return code;
    memory->total = total_of(device, card);
    memory->used = used_of(device, card);
    memory->free = memory->total - memory->used;
    return NVML_SUCCESS;
}

/* The simulated driver keeps nothing for itself: reserved is 0. */
VF_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device,
                                                  nvmlMemory_v2_t *memory)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_any(__func__, device, memory, &card);

    if (code)
        return code;
    if (memory->version != nvmlMemory_v2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    memory->total = total_of(device, card);
    memory->used = used_of(device, card);
    memory->free = memory->total - memory->used;
    memory->reserved = 0;
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device,
                                                   nvmlBAR1Memory_t *bar1)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_any(__func__, device, bar1, &card);

    if (code)
        return code;
    *bar1 = (nvmlBAR1Memory_t){.bar1Total = card->identity.memory_bytes,
                               .bar1Free = card->identity.memory_bytes};
    return NVML_SUCCESS;
}

/* ---- limits of cgroups (driver 615 and later) -------------------------- */

static struct vf_memory_limit *find(struct vf_card *card, const char *path)
{
    for (int i = 0; i < VF_MEMORY_LIMITS; i++)
        if (card->nvml.limits[i].used &&
            !strcmp(card->nvml.limits[i].path, path))
            return &card->nvml.limits[i];
    return NULL;
}

static struct vf_memory_limit *find_free(struct vf_card *card)
{
    for (int i = 0; i < VF_MEMORY_LIMITS; i++)
        if (!card->nvml.limits[i].used)
            return &card->nvml.limits[i];
    return NULL;
}

static nvmlReturn_t check(const char *call, nvmlDevice_t device,
                          const char *name, struct vf_card **card,
                          struct vf_memory_limit *limit)
{
    nvmlReturn_t code = nv_root(call, device, card);

    if (code)
        return code;
    if (vf_knob(*card, unsupported_memory_limits) ||
        atomic_load(&(*card)->nvml.mig_mode))
        return NVML_ERROR_NOT_SUPPORTED;
    if (!name || !vf_limit_path(name, limit->path, sizeof limit->path))
        return NVML_ERROR_INVALID_ARGUMENT;
    return NVML_SUCCESS;
}

static nvmlReturn_t set_limit(struct vf_card *card,
                              const struct vf_memory_limit *limit)
{
    struct vf_memory_limit *slot = find(card, limit->path);

    if (!slot)
        slot = find_free(card);
    if (!slot)
        return NVML_ERROR_INSUFFICIENT_RESOURCES;
    *slot = *limit;
    /* Nothing guaranteed and no cap: that is how one is taken away. */
    slot->used = limit->hard != NVML_DEVICE_MEMORY_LIMIT_MAX ||
                 limit->soft != 0;
    vf_limit_renew(card);
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceSetMemoryLimits_v1(
    nvmlDevice_t device, const nvmlSetMemoryLimits_v1_t *limits)
{
    struct vf_memory_limit limit = {.used = 1};
    struct vf_card *card;
    nvmlReturn_t code = limits ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;

    if (!code)
        code = check(__func__, device, limits->nameSpace, &card, &limit);
    if (code)
        return code;
    if (limits->softLimit > limits->hardLimit)
        return NVML_ERROR_INVALID_ARGUMENT;
    limit.soft = limits->softLimit;
    limit.hard = limits->hardLimit;
    vf_lock(card);
    code = set_limit(card, &limit);
    vf_unlock(card);
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetMemoryLimits_v1(
    nvmlDevice_t device, nvmlGetMemoryLimits_v1_t *limits)
{
    struct vf_memory_limit asked, *limit;
    struct vf_card *card;
    nvmlReturn_t code = limits ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;

    if (!code)
        code = check(__func__, device, limits->nameSpace, &card, &asked);
    if (code)
        return code;
    vf_reap(card);
    vf_lock(card);
    limit = find(card, asked.path);
    limits->softLimit = limits->currentUsed = 0;
    limits->hardLimit = NVML_DEVICE_MEMORY_LIMIT_MAX;
    if (limit) {
        limits->softLimit = limit->soft;
        limits->hardLimit = limit->hard;
        limits->currentUsed = vf_limit_used(
            card, (uint32_t)(limit - card->nvml.limits) + 1);
    }
    vf_unlock(card);
    return NVML_SUCCESS;
}
