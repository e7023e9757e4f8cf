/* NVML: who a device is. */
#include <stdio.h>
#include <string.h>

#include "nvml_lib.h"

enum {
    PCI_DEVICE_ID = 0xfa4e10de, /* no such product */
    HOPPER = 9,
    BRAND_NVIDIA = 14,
    CORES_PER_SM = 128
};

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
    nv_uuid(device, text);
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
