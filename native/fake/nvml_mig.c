/* NVML: MIG mode and GPU instances. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nvml_mig.h"

static struct nvmlGpuInstance_st handles[VF_CARDS][VF_MIG_SLICES];

static void number_all(void)
{
    for (int i = 0; i < VF_CARDS; i++)
        for (int j = 0; j < VF_MIG_SLICES; j++)
            handles[i][j] = (struct nvmlGpuInstance_st){i, j};
}

nvmlGpuInstance_t nv_gpu_instance(int card, int instance)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, number_all);
    return &handles[card][instance];
}

static nvmlReturn_t capable(const char *call, nvmlDevice_t device,
                            const void *out, struct vf_card **card)
{
    nvmlReturn_t code = nv_whole(call, device, out, card);

    if (!code && vf_knob(*card, unsupported_mig))
        return NVML_ERROR_NOT_SUPPORTED;
    return code;
}

/* MIG mode is on. */
static nvmlReturn_t divided(const char *call, nvmlDevice_t device,
                            const void *out, struct vf_card **card)
{
    nvmlReturn_t code = capable(call, device, out, card);

    if (!code && !atomic_load(&(*card)->nvml.mig_mode))
        return NVML_ERROR_NOT_SUPPORTED;
    return code;
}

nvmlReturn_t nv_part(const char *call, nvmlGpuInstance_t handle,
                     const void *out, struct vf_card **card,
                     struct vf_gpu_instance **instance)
{
    nvmlReturn_t code;

    if (!nv_ready())
        return NVML_ERROR_UNINITIALIZED;
    if (handle < &handles[0][0] || handle > &handles[VF_CARDS - 1]
                                                     [VF_MIG_SLICES - 1])
        return NVML_ERROR_INVALID_ARGUMENT;
    code = divided(call, nv_device(handle->card, -1, -1), out, card);
    if (code)
        return code;
    *instance = &(*card)->nvml.instances[handle->instance];
    return (*instance)->used ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

/* ---- the mode ---------------------------------------------------------- */

static bool in_use(struct vf_card *card)
{
    for (int i = 0; i < VF_MIG_SLICES; i++)
        if (card->nvml.instances[i].used)
            return true;
    for (int i = 0; i < VF_PROCESSES; i++)
        if (vf_process_pid(card, i) >= 0 &&
            atomic_load(&card->processes[i].memory_bytes))
            return true;
    return false;
}

/* A card in use keeps its mode; the asked one is pending. */
VF_EXPORT nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t device,
                                            unsigned int mode,
                                            nvmlReturn_t *activation)
{
    struct vf_card *card;
    nvmlReturn_t code = capable(__func__, device, activation, &card);

    if (code)
        return code;
    if (mode > NVML_DEVICE_MIG_ENABLE)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (geteuid() != 0)
        return NVML_ERROR_NO_PERMISSION;
    vf_reap(card);
    vf_lock(card);
    atomic_store(&card->nvml.mig_pending, mode);
    *activation = NVML_SUCCESS;
    if (atomic_load(&card->nvml.mig_mode) != mode && in_use(card))
        *activation = NVML_ERROR_IN_USE;
    else
        atomic_store(&card->nvml.mig_mode, mode);
    vf_unlock(card);
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device,
                                            unsigned int *current,
                                            unsigned int *pending)
{
    struct vf_card *card;
    nvmlReturn_t code = capable(__func__, device, current, &card);

    if (code)
        return code;
    if (!pending)
        return NVML_ERROR_INVALID_ARGUMENT;
    *current = atomic_load(&card->nvml.mig_mode);
    *pending = atomic_load(&card->nvml.mig_pending);
    return NVML_SUCCESS;
}

/* ---- profiles ---------------------------------------------------------- */

static nvmlReturn_t profile_of(const char *call, nvmlDevice_t device,
                               unsigned number, const void *out,
                               struct vf_card **card,
                               const struct vf_mig_profile **profile)
{
    nvmlReturn_t code = capable(call, device, out, card);

    if (code)
        return code;
    if (number >= NVML_GPU_INSTANCE_PROFILE_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    *profile = vf_mig_by_number(number);
    return *profile ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

static uint64_t profile_mib(const struct vf_card *card,
                            const struct vf_mig_profile *profile)
{
    struct vf_gpu_instance like = {.memory_slices = profile->memory_slices};

    return vf_mig_bytes(card, &like) >> 20;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(
    nvmlDevice_t device, unsigned int number,
    nvmlGpuInstanceProfileInfo_t *info)
{
    const struct vf_mig_profile *profile;
    struct vf_card *card;
    nvmlReturn_t code = profile_of(__func__, device, number, info, &card,
                                   &profile);

    if (code)
        return code;
    *info = (nvmlGpuInstanceProfileInfo_t){
        .id = profile->id,
        .sliceCount = profile->slices,
        .instanceCount = profile->most,
        .multiprocessorCount = vf_mig_sms(card, profile->slices),
        .copyEngineCount = profile->copy_engines,
        .memorySizeMB = profile_mib(card, profile)};
    return NVML_SUCCESS;
}

static void profile_name(const nvmlGpuInstanceProfileInfo_t *info, char *name)
{
    snprintf(name, NVML_DEVICE_NAME_V2_BUFFER_SIZE, "MIG %ug.%ugb",
             info->sliceCount, (unsigned)((info->memorySizeMB + 512) / 1024));
}

static void fill_v2(const nvmlGpuInstanceProfileInfo_t *from,
                    nvmlGpuInstanceProfileInfo_v2_t *info)
{
    *info = (nvmlGpuInstanceProfileInfo_v2_t){
        .version = info->version,
        .id = from->id,
        .sliceCount = from->sliceCount,
        .instanceCount = from->instanceCount,
        .multiprocessorCount = from->multiprocessorCount,
        .copyEngineCount = from->copyEngineCount,
        .memorySizeMB = from->memorySizeMB};
    profile_name(from, info->name);
}

static void fill_v3(const nvmlGpuInstanceProfileInfo_t *from,
                    nvmlGpuInstanceProfileInfo_v3_t *info)
{
    *info = (nvmlGpuInstanceProfileInfo_v3_t){
        .version = info->version,
        .id = from->id,
        .sliceCount = from->sliceCount,
        .instanceCount = from->instanceCount,
        .multiprocessorCount = from->multiprocessorCount,
        .copyEngineCount = from->copyEngineCount,
        .memorySizeMB = from->memorySizeMB};
    profile_name(from, info->name);
}

/* The first word says which structure the caller has. */
VF_EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(
    nvmlDevice_t device, unsigned int number,
    nvmlGpuInstanceProfileInfo_v2_t *info)
{
    nvmlGpuInstanceProfileInfo_t plain;
    nvmlReturn_t code = info ? nvmlDeviceGetGpuInstanceProfileInfo(
                                   device, number, &plain)
                             : NVML_ERROR_INVALID_ARGUMENT;

    if (code)
        return code;
    if (info->version == nvmlGpuInstanceProfileInfo_v2)
        fill_v2(&plain, info);
    else if (info->version == nvmlGpuInstanceProfileInfo_v3)
        fill_v3(&plain, (nvmlGpuInstanceProfileInfo_v3_t *)(void *)info);
    else
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return NVML_SUCCESS;
}

/* By id, with the mode on: what the three calls below need. */
static nvmlReturn_t by_id(const char *call, nvmlDevice_t device, unsigned id,
                          const void *out, struct vf_card **card,
                          const struct vf_mig_profile **profile)
{
    nvmlReturn_t code = divided(call, device, out, card);

    if (code)
        return code;
    *profile = vf_mig_by_id(id);
    return *profile ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(
    nvmlDevice_t device, unsigned int id,
    nvmlGpuInstancePlacement_t *placements, unsigned int *count)
{
    const struct vf_mig_profile *profile;
    struct vf_card *card;
    nvmlReturn_t code = by_id(__func__, device, id, count, &card, &profile);
    uint32_t starts[8];

    if (code)
        return code;
    *count = (unsigned)vf_mig_starts(profile, starts);
    for (unsigned i = 0; placements && i < *count; i++)
        placements[i] = (nvmlGpuInstancePlacement_t){starts[i],
                                                     profile->memory_slices};
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceRemainingCapacity(
    nvmlDevice_t device, unsigned int id, unsigned int *count)
{
    const struct vf_mig_profile *profile;
    struct vf_card *card;
    nvmlReturn_t code = by_id(__func__, device, id, count, &card, &profile);

    if (!code)
        *count = vf_mig_remaining(card, profile);
    return code;
}

/* ---- instances --------------------------------------------------------- */

static nvmlReturn_t create(const char *call, nvmlDevice_t device, unsigned id,
                           int start, nvmlGpuInstance_t *out)
{
    const struct vf_mig_profile *profile;
    struct vf_card *card;
    nvmlReturn_t code = by_id(call, device, id, out, &card, &profile);
    int index;

    if (code)
        return code;
    if (geteuid() != 0)
        return NVML_ERROR_NO_PERMISSION;
    vf_lock(card);
    index = vf_mig_create(card, profile, start);
    vf_unlock(card);
    if (index < 0)
        return NVML_ERROR_INSUFFICIENT_RESOURCES;
    *out = nv_gpu_instance(device->card, index);
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceCreateGpuInstance(nvmlDevice_t device,
                                                   unsigned int id,
                                                   nvmlGpuInstance_t *out)
{
    return create(__func__, device, id, -1, out);
}

VF_EXPORT nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(
    nvmlDevice_t device, unsigned int id,
    const nvmlGpuInstancePlacement_t *placement, nvmlGpuInstance_t *out)
{
    if (!placement || placement->start >= VF_MIG_MEMORY_SLICES)
        return nv_ready() ? NVML_ERROR_INVALID_ARGUMENT
                          : NVML_ERROR_UNINITIALIZED;
    return create(__func__, device, id, (int)placement->start, out);
}

VF_EXPORT nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t handle)
{
    struct vf_gpu_instance *instance;
    struct vf_card *card;
    nvmlReturn_t code = nv_part(__func__, handle, handle, &card, &instance);

    if (code)
        return code;
    if (geteuid() != 0)
        return NVML_ERROR_NO_PERMISSION;
    vf_reap(card);
    vf_lock(card);
    for (int i = 0; i < VF_MIG_SLICES; i++)
        if (instance->compute[i].used)
            code = NVML_ERROR_IN_USE;
    if (vf_mig_busy(card, handle->instance, -1))
        code = NVML_ERROR_IN_USE;
    if (!code)
        instance->used = 0;
    vf_unlock(card);
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device,
                                                 unsigned int id,
                                                 nvmlGpuInstance_t *out,
                                                 unsigned int *count)
{
    const struct vf_mig_profile *profile;
    struct vf_card *card;
    nvmlReturn_t code = by_id(__func__, device, id, count, &card, &profile);

    if (code)
        return code;
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    for (int i = 0; i < VF_MIG_SLICES; i++)
        if (card->nvml.instances[i].used &&
            card->nvml.instances[i].profile == id)
            out[(*count)++] = nv_gpu_instance(device->card, i);
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device,
                                                    unsigned int id,
                                                    nvmlGpuInstance_t *out)
{
    struct vf_card *card;
    nvmlReturn_t code = divided(__func__, device, out, &card);

    if (code)
        return code;
    for (int i = 0; i < VF_MIG_SLICES; i++)
        if (card->nvml.instances[i].used &&
            card->nvml.instances[i].id == id) {
            *out = nv_gpu_instance(device->card, i);
            return NVML_SUCCESS;
        }
    return NVML_ERROR_NOT_FOUND;
}

VF_EXPORT nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t handle,
                                              nvmlGpuInstanceInfo_t *info)
{
    struct vf_gpu_instance *instance;
    struct vf_card *card;
    nvmlReturn_t code = nv_part(__func__, handle, info, &card, &instance);

    if (code)
        return code;
    *info = (nvmlGpuInstanceInfo_t){
        .device = nv_device(handle->card, -1, -1),
        .id = instance->id,
        .profileId = instance->profile,
        .placement = {instance->start, instance->memory_slices}};
    return NVML_SUCCESS;
}
