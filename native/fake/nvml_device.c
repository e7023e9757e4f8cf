/* NVML: handles, and who a device is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvml_lib.h"
#include "parts.h"

enum {
    PCI_DEVICE_ID = 0xfa4e10de, /* no such product */
    HOPPER = 9,
    BRAND_NVIDIA = 14,
    CORES_PER_SM = 128
};

/* ---- handles ------------------------------------------------------------------ */

static struct nvmlDevice_st wholes[VF_CARDS];
static struct nvmlDevice_st migs[VF_CARDS][VF_MIG_SLICES][VF_MIG_SLICES];

nvmlDevice_t nv_device(int card, int instance, int compute)
{
    nvmlDevice_t device = instance < 0 ? &wholes[card]
                                       : &migs[card][instance][compute];

    *device = (struct nvmlDevice_st){card, instance, compute};
    return device;
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

static void uuid_of(nvmlDevice_t device, char text[VF_UUID_TEXT])
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

    uuid_of(device, text);
    if (!strcmp(text, uuid))
        return device;
    for (int i = 0; i < VF_MIG_SLICES * VF_MIG_SLICES; i++) {
        device = nv_device(card, i / VF_MIG_SLICES, i % VF_MIG_SLICES);
        uuid_of(device, text);
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

/* ---- who it is ------------------------------------------------------------------ */

VF_EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name,
                                         unsigned int size)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_any(__func__, device, name, &card);
    char text[NVML_DEVICE_NAME_V2_BUFFER_SIZE];

    if (code)
        return code;
    if (nv_is_mig(device))
        vf_mig_name(card, nv_instance(device), text, sizeof text);
    else
        snprintf(text, sizeof text, "%s", card->identity.name);
    return nv_text(text, name, size);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid,
                                         unsigned int size)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_any(__func__, device, uuid, &card);
    char text[VF_UUID_TEXT];

    if (code)
        return code;
    uuid_of(device, text);
    return nv_text(text, uuid, size);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char *serial,
                                           unsigned int size)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(__func__, device, serial, &card);

    return code ? code : nv_text(card->identity.serial, serial, size);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetBoardPartNumber(nvmlDevice_t device,
                                                    char *text,
                                                    unsigned int size)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(__func__, device, text, &card);

    return code ? code : nv_text("SIMULATED", text, size);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device,
                                                 char *text, unsigned int size)
{
    return nvmlDeviceGetBoardPartNumber(device, text, size);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device,
                                          unsigned int *index)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_any(__func__, device, index, &card);

    if (!code)
        *index = (unsigned)device->card;
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device,
                                                unsigned int *minor)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(__func__, device, minor, &card);

    if (!code)
        *minor = (unsigned)card->identity.index;
    return code;
}

static nvmlReturn_t constant(const char *call, nvmlDevice_t device,
                             unsigned int *out, unsigned int value)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_any(call, device, out, &card);

    if (!code)
        *out = value;
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device,
                                          unsigned int *brand)
{
    return constant(__func__, device, brand, BRAND_NVIDIA);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device,
                                                 unsigned int *architecture)
{
    return constant(__func__, device, architecture, HOPPER);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device,
                                                  unsigned int *multi)
{
    return constant(__func__, device, multi, 0);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device,
                                                   unsigned int *width)
{
    return constant(__func__, device, width, 5120);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t device,
                                                unsigned int *cores)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(__func__, device, cores, &card);

    if (!code)
        *cores = (unsigned)card->identity.sms * CORES_PER_SM;
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device,
                                                          int *major,
                                                          int *minor)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_any(__func__, device, major, &card);

    if (code)
        return code;
    if (!minor)
        return NVML_ERROR_INVALID_ARGUMENT;
    *major = 9;
    *minor = 0;
    return NVML_SUCCESS;
}

static void fill_pci(const struct vf_identity *card, nvmlPciInfo_t *pci)
{
    *pci = (nvmlPciInfo_t){.domain = card->pci_domain,
                           .bus = card->pci_bus,
                           .device = card->pci_device,
                           .pciDeviceId = PCI_DEVICE_ID,
                           .pciSubSystemId = PCI_DEVICE_ID};
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.%X",
             card->pci_domain & 0xffff, card->pci_bus & 0xff,
             card->pci_device & 0xff, card->pci_function & 0xf);
    snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.%X",
             card->pci_domain, card->pci_bus, card->pci_device,
             card->pci_function);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device,
                                               nvmlPciInfo_t *pci)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_any(__func__, device, pci, &card);

    if (!code)
        fill_pci(&card->identity, pci);
    return code;
}

/* The older structure ends before busId. */
VF_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device,
                                               nvmlPciInfo_t *pci)
{
    nvmlPciInfo_t full;
    nvmlReturn_t code = pci ? nvmlDeviceGetPciInfo_v3(device, &full)
                            : NVML_ERROR_INVALID_ARGUMENT;

    if (!code)
        memcpy(pci, &full, offsetof(nvmlPciInfo_t, busId));
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device,
                                            nvmlPciInfo_t *pci)
{
    return nvmlDeviceGetPciInfo_v2(device, pci);
}
