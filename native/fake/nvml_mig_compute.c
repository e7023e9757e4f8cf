/* NVML: compute instances, and the MIG devices that they are. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "nvml_mig.h"

static struct nvmlComputeInstance_st handles[VF_CARDS][VF_MIG_SLICES]
                                            [VF_MIG_SLICES];

typedef struct {
    unsigned int version, id, sliceCount, instanceCount, multiprocessorCount;
    unsigned int sharedCopyEngineCount, sharedDecoderCount;
    unsigned int sharedEncoderCount, sharedJpegCount, sharedOfaCount;
    char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
} compute_profile_v2;
_Static_assert(sizeof(compute_profile_v2) == 136, "NVML's v2");

static void number_all(void)
{
    for (int i = 0; i < VF_CARDS; i++)
        for (int j = 0; j < VF_MIG_SLICES; j++)
            for (int k = 0; k < VF_MIG_SLICES; k++)
                handles[i][j][k] = (struct nvmlComputeInstance_st){i, j, k};
}

static nvmlComputeInstance_t handle_of(int card, int instance, int compute)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, number_all);
    return &handles[card][instance][compute];
}

/* A live compute instance. */
static nvmlReturn_t begin(const char *call, nvmlComputeInstance_t handle,
                          const void *out, struct vf_card **card,
                          struct vf_compute_instance **compute)
{
    nvmlComputeInstance_t first = &handles[0][0][0];
    struct vf_gpu_instance *instance;
    nvmlReturn_t code;

    if (!nv_ready())
        return NVML_ERROR_UNINITIALIZED;
    if (handle < first ||
        handle >= first + sizeof handles / sizeof handles[0][0][0])
        return NVML_ERROR_INVALID_ARGUMENT;
    code = nv_part(call, nv_gpu_instance(handle->card, handle->instance), out,
                   card, &instance);
    if (code)
        return code;
    *compute = &instance->compute[handle->compute];
    return (*compute)->used ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

/* ---- profiles ---------------------------------------------------------- */

/* A profile's number is its id here, and fits if the instance is as large. */
static nvmlReturn_t slices_of(const struct vf_gpu_instance *instance,
                              unsigned profile, unsigned *slices)
{
    if (profile >= NVML_COMPUTE_INSTANCE_PROFILE_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    *slices = (unsigned)vf_mig_compute_slices(profile);
    if (!*slices || *slices > instance->slices)
        return NVML_ERROR_NOT_SUPPORTED;
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(
    nvmlGpuInstance_t handle, unsigned int profile, unsigned int engines,
    nvmlComputeInstanceProfileInfo_t *info)
{
    struct vf_gpu_instance *instance;
    struct vf_card *card;
    nvmlReturn_t code = nv_part(__func__, handle, info, &card, &instance);
    unsigned slices;

    if (code)
        return code;
    if (engines != NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
        return NVML_ERROR_NOT_SUPPORTED;
    code = slices_of(instance, profile, &slices);
    if (code)
        return code;
    *info = (nvmlComputeInstanceProfileInfo_t){
        .id = profile,
        .sliceCount = slices,
        .instanceCount = instance->slices / slices,
        .multiprocessorCount = vf_mig_sms(card, slices),
        .sharedCopyEngineCount = instance->slices};
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(
    nvmlGpuInstance_t handle, unsigned int profile, unsigned int engines,
    compute_profile_v2 *info)
{
    nvmlComputeInstanceProfileInfo_t plain;
    nvmlReturn_t code;

    if (!info)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (info->version != VX_NVML_VERSION(compute_profile_v2, 2))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    code = nvmlGpuInstanceGetComputeInstanceProfileInfo(handle, profile,
                                                        engines, &plain);
    if (code)
        return code;
    *info = (compute_profile_v2){
        .version = info->version,
        .id = plain.id,
        .sliceCount = plain.sliceCount,
        .instanceCount = plain.instanceCount,
        .multiprocessorCount = plain.multiprocessorCount,
        .sharedCopyEngineCount = plain.sharedCopyEngineCount};
    snprintf(info->name, sizeof info->name, "MIG %uc", plain.sliceCount);
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstanceRemainingCapacity(
    nvmlGpuInstance_t handle, unsigned int profile, unsigned int *count)
{
    struct vf_gpu_instance *instance;
    struct vf_card *card;
    nvmlReturn_t code = nv_part(__func__, handle, count, &card, &instance);
    unsigned slices;

    if (!code)
        code = slices_of(instance, profile, &slices);
    if (code)
        return code;
    *count = 0;
    for (uint32_t at = 0; at < instance->slices;) {
        bool fits = vf_mig_compute_fits(instance, at, slices);

        *count += fits;
        at += fits ? slices : 1;
    }
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstancePossiblePlacements(
    nvmlGpuInstance_t handle, unsigned int profile,
    nvmlComputeInstancePlacement_t *placements, unsigned int *count)
{
    struct vf_gpu_instance *instance;
    struct vf_card *card;
    nvmlReturn_t code = nv_part(__func__, handle, count, &card, &instance);
    unsigned slices;

    if (!code)
        code = slices_of(instance, profile, &slices);
    if (code)
        return code;
    *count = instance->slices - slices + 1;
    for (unsigned i = 0; placements && i < *count; i++)
        placements[i] = (nvmlComputeInstancePlacement_t){i, slices};
    return NVML_SUCCESS;
}

/* ---- instances --------------------------------------------------------- */

static nvmlReturn_t create(const char *call, nvmlGpuInstance_t handle,
                           unsigned profile, int start,
                           nvmlComputeInstance_t *out)
{
    struct vf_gpu_instance *instance;
    struct vf_card *card;
    nvmlReturn_t code = nv_part(call, handle, out, &card, &instance);
    unsigned slices;
    int index;

    if (!code)
        code = slices_of(instance, profile, &slices);
    if (code)
        return code;
    if (geteuid() != 0)
        return NVML_ERROR_NO_PERMISSION;
    vf_lock(card);
    index = vf_mig_compute_create(instance, profile, start);
    vf_unlock(card);
    if (index < 0)
        return NVML_ERROR_INSUFFICIENT_RESOURCES;
    *out = handle_of(handle->card, handle->instance, index);
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(
    nvmlGpuInstance_t handle, unsigned int profile, nvmlComputeInstance_t *out)
{
    return create(__func__, handle, profile, -1, out);
}

VF_EXPORT nvmlReturn_t nvmlGpuInstanceCreateComputeInstanceWithPlacement(
    nvmlGpuInstance_t handle, unsigned int profile,
    const nvmlComputeInstancePlacement_t *placement,
    nvmlComputeInstance_t *out)
{
    if (!placement || placement->start >= VF_MIG_SLICES)
        return nv_ready() ? NVML_ERROR_INVALID_ARGUMENT
                          : NVML_ERROR_UNINITIALIZED;
    return create(__func__, handle, profile, (int)placement->start, out);
}

VF_EXPORT nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t handle)
{
    struct vf_compute_instance *compute;
    struct vf_card *card;
    nvmlReturn_t code = begin(__func__, handle, handle, &card, &compute);

    if (code)
        return code;
    if (geteuid() != 0)
        return NVML_ERROR_NO_PERMISSION;
    vf_reap(card);
    vf_lock(card);
    if (vf_mig_busy(card, handle->instance, handle->compute))
        code = NVML_ERROR_IN_USE;
    else
        compute->used = 0;
    vf_unlock(card);
    return code;
}

VF_EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstances(
    nvmlGpuInstance_t handle, unsigned int profile,
    nvmlComputeInstance_t *out, unsigned int *count)
{
    struct vf_gpu_instance *instance;
    struct vf_card *card;
    nvmlReturn_t code = nv_part(__func__, handle, count, &card, &instance);

    if (code)
        return code;
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    for (int i = 0; i < VF_MIG_SLICES; i++)
        if (instance->compute[i].used &&
            instance->compute[i].profile == profile)
            out[(*count)++] = handle_of(handle->card, handle->instance, i);
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(
    nvmlGpuInstance_t handle, unsigned int id, nvmlComputeInstance_t *out)
{
    struct vf_gpu_instance *instance;
    struct vf_card *card;
    nvmlReturn_t code = nv_part(__func__, handle, out, &card, &instance);

    if (code)
        return code;
    if (id >= VF_MIG_SLICES || !instance->compute[id].used)
        return NVML_ERROR_NOT_FOUND;
    *out = handle_of(handle->card, handle->instance, (int)id);
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlComputeInstanceGetInfo_v2(
    nvmlComputeInstance_t handle, nvmlComputeInstanceInfo_t *info)
{
    struct vf_compute_instance *compute;
    struct vf_card *card;
    nvmlReturn_t code = begin(__func__, handle, info, &card, &compute);

    if (code)
        return code;
    *info = (nvmlComputeInstanceInfo_t){
        .device = nv_device(handle->card, -1, -1),
        .gpuInstance = nv_gpu_instance(handle->card, handle->instance),
        .id = compute->id,
        .profileId = compute->profile,
        .placement = {compute->start, compute->slices}};
    return NVML_SUCCESS;
}

/* ---- MIG devices ------------------------------------------------------- */

VF_EXPORT nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device,
                                                   unsigned int *is)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_any(__func__, device, is, &card);

    if (!code)
        *is = nv_is_mig(device);
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device,
                                                      unsigned int *count)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(__func__, device, count, &card);

    if (!code)
        *count = vf_knob(card, unsupported_mig) ? 0 : VF_MIG_SLICES;
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(
    nvmlDevice_t device, unsigned int index, nvmlDevice_t *out)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(__func__, device, out, &card);
    unsigned seen = 0;

    if (code)
        return code;
    if (!atomic_load(&card->nvml.mig_mode))
        return NVML_ERROR_NOT_SUPPORTED;
    if (index >= VF_MIG_SLICES)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < VF_MIG_SLICES; i++)
        for (int j = 0; j < VF_MIG_SLICES; j++)
            if (card->nvml.instances[i].used &&
                card->nvml.instances[i].compute[j].used && seen++ == index) {
                *out = nv_device(device->card, i, j);
                return NVML_SUCCESS;
            }
    return NVML_ERROR_NOT_FOUND;
}

/* A handle of a MIG device; others have no instance. */
static nvmlReturn_t mig_device(const char *call, nvmlDevice_t device,
                               const void *out, struct vf_card **card)
{
    nvmlReturn_t code = nv_any(call, device, out, card);

    return !code && !nv_is_mig(device) ? NVML_ERROR_INVALID_ARGUMENT : code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(
    nvmlDevice_t device, nvmlDevice_t *out)
{
    struct vf_card *card;
    nvmlReturn_t code = mig_device(__func__, device, out, &card);

    if (!code)
        *out = nv_device(device->card, -1, -1);
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device,
                                                  unsigned int *id)
{
    struct vf_card *card;
    nvmlReturn_t code = mig_device(__func__, device, id, &card);

    if (!code)
        *id = nv_instance(device)->id;
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device,
                                                      unsigned int *id)
{
    struct vf_card *card;
    nvmlReturn_t code = mig_device(__func__, device, id, &card);

    if (!code)
        *id = nv_instance(device)->compute[device->compute].id;
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device,
                                                  nvmlDeviceAttributes_t *out)
{
    struct vf_card *card;
    nvmlReturn_t code = mig_device(__func__, device, out, &card);
    const struct vf_gpu_instance *instance;
    unsigned slices;

    if (code)
        return code;
    instance = nv_instance(device);
    slices = instance->compute[device->compute].slices;
    *out = (nvmlDeviceAttributes_t){
        .multiprocessorCount = vf_mig_sms(card, slices),
        .sharedCopyEngineCount = instance->slices,
        .gpuInstanceSliceCount = instance->slices,
        .computeInstanceSliceCount = slices,
        .memorySizeMB = vf_mig_bytes(card, instance) >> 20};
    return NVML_SUCCESS;
}
