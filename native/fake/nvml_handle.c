/* NVML: the handles of devices, and finding one. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nvml_lib.h"
#include "parts.h"

/* ---- handles ----------------------------------------------------------- */

static struct nvmlDevice_st wholes[VF_CARDS];
static struct nvmlDevice_st migs[VF_CARDS][VF_MIG_SLICES][VF_MIG_SLICES];

static void number_all(void)
{
    for (int i = 0; i < VF_CARDS; i++) {
        wholes[i] = (struct nvmlDevice_st){i, -1, -1};
        for (int j = 0; j < VF_MIG_SLICES; j++)
            for (int k = 0; k < VF_MIG_SLICES; k++)
                migs[i][j][k] = (struct nvmlDevice_st){i, j, k};
    }
}

nvmlDevice_t nv_device(int card, int instance, int compute)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, number_all);
    return instance < 0 ? &wholes[card] : &migs[card][instance][compute];
}

static bool is_one_of(nvmlDevice_t device, struct nvmlDevice_st *first,
                      size_t count)
{
    return device >= first && device < first + count;
}

bool nv_is_mig(nvmlDevice_t device)
{
    return is_one_of(device, &migs[0][0][0], sizeof migs / sizeof *device);
}

const struct vf_gpu_instance *nv_instance(nvmlDevice_t device)
{
    return nv_is_mig(device)
               ? &vf_card(device->card)->nvml.instances[device->instance]
               : NULL;
}

static bool is_there(nvmlDevice_t device)
{
    const struct vf_gpu_instance *instance;

    if (is_one_of(device, wholes, VF_CARDS))
        return device->card < vf_count();
    if (!nv_is_mig(device) || device->card >= vf_count())
        return false;
    instance = nv_instance(device);
    return instance->used && instance->compute[device->compute].used;
}

nvmlReturn_t nv_any(const char *call, nvmlDevice_t device, const void *out,
                    struct vf_card **card)
{
    CUresult fault;

    if (!nv_ready())
        return NVML_ERROR_UNINITIALIZED;
    if (vf_inject(call, &fault))
        return (nvmlReturn_t)fault;
    if (!out || !device || !is_there(device))
        return NVML_ERROR_INVALID_ARGUMENT;
    *card = vf_card(device->card);
    return vf_knob(*card, lost) ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}

nvmlReturn_t nv_whole(const char *call, nvmlDevice_t device, const void *out,
                      struct vf_card **card)
{
    nvmlReturn_t code = nv_any(call, device, out, card);

    if (code == NVML_SUCCESS && nv_is_mig(device))
        return NVML_ERROR_NOT_SUPPORTED;
    return code;
}

nvmlReturn_t nv_root(const char *call, nvmlDevice_t device,
                     struct vf_card **card)
{
    nvmlReturn_t code = nv_whole(call, device, device, card);

    if (code == NVML_SUCCESS && geteuid() != 0)
        return NVML_ERROR_NO_PERMISSION;
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    if (!nv_ready())
        return NVML_ERROR_UNINITIALIZED;
    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    *count = (unsigned)vf_count();
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetCount(unsigned int *count)
{
    return nvmlDeviceGetCount_v2(count);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index,
                                                     nvmlDevice_t *device)
{
    if (!nv_ready())
        return NVML_ERROR_UNINITIALIZED;
    if (!device || index >= (unsigned)vf_count())
        return NVML_ERROR_INVALID_ARGUMENT;
    *device = nv_device((int)index, -1, -1);
    return vf_knob(vf_card((int)index), lost) ? NVML_ERROR_GPU_IS_LOST
                                              : NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index,
                                                  nvmlDevice_t *device)
{
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

void nv_uuid(nvmlDevice_t device, char text[VF_UUID_TEXT])
{
    struct vf_card *card = vf_card(device->card);
    uint8_t uuid[16];

    if (!nv_is_mig(device)) {
        vf_uuid_text("GPU-", card->identity.uuid, text);
        return;
    }
    vf_mig_uuid(card, device->instance, device->compute, uuid);
    vf_uuid_text("MIG-", uuid, text);
}

static nvmlDevice_t by_uuid(const char *uuid, int card)
{
    char text[VF_UUID_TEXT];
    nvmlDevice_t device = nv_device(card, -1, -1);

    nv_uuid(device, text);
    if (!strcmp(text, uuid))
        return device;
    for (int i = 0; i < VF_MIG_SLICES * VF_MIG_SLICES; i++) {
        device = nv_device(card, i / VF_MIG_SLICES, i % VF_MIG_SLICES);
        nv_uuid(device, text);
        if (is_there(device) && !strcmp(text, uuid))
            return device;
    }
    return NULL;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid,
                                                 nvmlDevice_t *device)
{
    if (!nv_ready())
        return NVML_ERROR_UNINITIALIZED;
    if (!device || !uuid || strlen(uuid) >= VF_UUID_TEXT)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < vf_count(); i++) {
        *device = by_uuid(uuid, i);
        if (*device)
            return vf_knob(vf_card(i), lost) ? NVML_ERROR_GPU_IS_LOST
                                             : NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial,
                                                   nvmlDevice_t *device)
{
    if (!nv_ready())
        return NVML_ERROR_UNINITIALIZED;
    if (!device || !serial)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < vf_count(); i++)
        if (!strcmp(vf_card(i)->identity.serial, serial)) {
            *device = nv_device(i, -1, -1);
            return NVML_SUCCESS;
        }
    return NVML_ERROR_NOT_FOUND;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *text,
                                                        nvmlDevice_t *device)
{
    unsigned domain = 0, bus, slot;

    if (!nv_ready())
        return NVML_ERROR_UNINITIALIZED;
    if (!device || !text)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
        domain = 0;
        if (sscanf(text, "%x:%x", &bus, &slot) != 2)
            return NVML_ERROR_INVALID_ARGUMENT;
    }
    for (int i = 0; i < vf_count(); i++) {
        const struct vf_identity *card = &vf_card(i)->identity;

        if (card->pci_domain == domain && card->pci_bus == bus &&
            card->pci_device == slot) {
            *device = nv_device(i, -1, -1);
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *text,
                                                     nvmlDevice_t *device)
{
    return nvmlDeviceGetHandleByPciBusId_v2(text, device);
}
