/* cuInit, and what the driver says of each device. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "parts.h"
#include "version.h"
#include "visible.h"

enum { LAST_ATTRIBUTE = 161, PCI_TEXT = 13 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vf_visible visible[VF_CARDS];
static int visible_count;
static _Atomic uint64_t initialised_in; /* vf_life(), 0 before */

/* ---- initialisation ---------------------------------------------------- */

static CUresult initialise(void)
{
    int count = vf_count();

    if (!count)
        return CUDA_ERROR_NO_DEVICE;
    if (initialised_in && vf_knob(vf_card(0), fork_forbidden))
        return CUDA_ERROR_NOT_INITIALIZED; /* the parent had it */
    visible_count = vf_visible_find(visible);
    if (!visible_count)
        return CUDA_ERROR_NO_DEVICE;
    if (visible[0].instance >= 0)
        vf_mig_choose(visible[0].card, visible[0].instance,
                      visible[0].compute);
    initialised_in = vf_life();
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuInit(unsigned int flags)
{
    CUresult code = CUDA_SUCCESS;

    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (vf_inject("cuInit", &code))
        return code;
    pthread_mutex_lock(&lock);
    if (!vf_initialised())
        code = initialise();
    pthread_mutex_unlock(&lock);
    return code;
}

bool vf_initialised(void)
{
    return initialised_in == vf_life();
}

VF_EXPORT CUresult cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = VF_DRIVER_VERSION;
    return CUDA_SUCCESS;
}

/* ---- finding devices --------------------------------------------------- */

struct vf_card *vf_device_card(CUdevice device)
{
    return device >= 0 && device < visible_count ? visible[device].card : NULL;
}

CUdevice vf_card_device(const struct vf_card *card)
{
    for (int i = 0; i < visible_count; i++)
        if (visible[i].card == card)
            return i;
    return -1;
}

/* What every call below begins with. */
static CUresult check(const char *call, const void *out, CUdevice device)
{
    CUresult code;

    if (!vf_initialised())
        return CUDA_ERROR_NOT_INITIALIZED;
    if (vf_inject(call, &code))
        return code;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    return vf_device_card(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

VF_EXPORT CUresult cuDeviceGetCount(int *count)
{
    if (!vf_initialised())
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = visible_count;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult code = check("cuDeviceGet", device, ordinal);

    if (code == CUDA_SUCCESS)
        *device = ordinal;
    return code;
}

/* ---- names ------------------------------------------------------------- */

static const struct vf_gpu_instance *instance_of(CUdevice device)
{
    int instance = visible[device].instance;

    return instance < 0 ? NULL
                        : &visible[device].card->nvml.instances[instance];
}

VF_EXPORT CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    CUresult code = check("cuDeviceGetName", name, device);

    if (code)
        return code;
    if (length <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (instance_of(device))
        vf_mig_name(visible[device].card, instance_of(device), name,
                    (unsigned)length);
    else
        snprintf(name, (size_t)length, "%s",
                 visible[device].card->identity.name);
    return CUDA_SUCCESS;
}

/* The first ABI names the card even where an instance is the device. */
VF_EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    CUresult code = check("cuDeviceGetUuid", uuid, device);

    if (code == CUDA_SUCCESS)
        memcpy(uuid->bytes, visible[device].card->identity.uuid, 16);
    return code;
}

VF_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    CUresult code = check("cuDeviceGetUuid_v2", uuid, device);

    if (code == CUDA_SUCCESS && instance_of(device))
        vf_mig_uuid(visible[device].card, visible[device].instance,
                    visible[device].compute, (uint8_t *)uuid->bytes);
    else if (code == CUDA_SUCCESS)
        memcpy(uuid->bytes, visible[device].card->identity.uuid, 16);
    return code;
}

/* Only Windows has these. */
VF_EXPORT CUresult cuDeviceGetLuid(char *luid, unsigned int *mask,
                                   CUdevice device)
{
    CUresult code = check("cuDeviceGetLuid", luid, device);

    (void)mask;
    return code ? code : CUDA_ERROR_NOT_SUPPORTED;
}

VF_EXPORT CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice device)
{
    CUresult code = check("cuDeviceGetPCIBusId", text, device);
    const struct vf_identity *card;
    char full[32];

    if (code)
        return code;
    if (length < PCI_TEXT)
        return CUDA_ERROR_INVALID_VALUE;
    card = &visible[device].card->identity;
    snprintf(full, sizeof full, "%04x:%02x:%02x.%x", card->pci_domain,
             card->pci_bus, card->pci_device, card->pci_function);
    snprintf(text, (size_t)length, "%s", full);
    return CUDA_SUCCESS;
}

/* [domain:]bus:device[.function], all hexadecimal. */
static bool parse_pci(const char *text, unsigned part[4])
{
    char rest;

    part[0] = part[3] = 0;
    return sscanf(text, "%x:%x:%x.%x%c", &part[0], &part[1], &part[2],
                  &part[3], &rest) == 4 ||
           sscanf(text, "%x:%x:%x%c", &part[0], &part[1], &part[2], &rest) ==
               3 ||
           (part[0] = 0, sscanf(text, "%x:%x.%x%c", &part[1], &part[2],
                                &part[3], &rest) == 3);
}

VF_EXPORT CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *text)
{
    unsigned part[4];

    if (!vf_initialised())
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!device || !text || !parse_pci(text, part))
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < visible_count; i++) {
        const struct vf_identity *card = &visible[i].card->identity;

        if (card->pci_domain == part[0] && card->pci_bus == part[1] &&
            card->pci_device == part[2] && card->pci_function == part[3]) {
            *device = i;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

/* ---- sizes ------------------------------------------------------------- */

static uint64_t total_bytes(CUdevice device)
{
    const struct vf_gpu_instance *instance = instance_of(device);

    return instance ? vf_mig_bytes(visible[device].card, instance)
                    : visible[device].card->identity.memory_bytes;
}

VF_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    CUresult code = check("cuDeviceTotalMem_v2", bytes, device);

    if (code == CUDA_SUCCESS)
        *bytes = total_bytes(device);
    return code;
}

VF_EXPORT CUresult cuDeviceTotalMem(unsigned int *bytes, CUdevice device)
{
    CUresult code = check("cuDeviceTotalMem", bytes, device);
    uint64_t all;

    if (code)
        return code;
    all = total_bytes(device);
    *bytes = all > UINT32_MAX ? UINT32_MAX : (unsigned)all;
    return CUDA_SUCCESS;
}

/* ---- attributes -------------------------------------------------------- */

struct facts {
    int sms, compute_mode, ecc, numa_node;
    int pci_domain, pci_bus, pci_device;
    int clock_sm_khz, clock_memory_khz;
};

static struct facts facts_of(CUdevice device)
{
    struct vf_card *card = visible[device].card;
    const struct vf_gpu_instance *instance = instance_of(device);
    int compute = visible[device].compute;

    return (struct facts){
        .sms = instance ? (int)vf_mig_sms(card,
                                          instance->compute[compute].slices)
                        : (int)card->identity.sms,
        .compute_mode = (int)vf_knob(card, compute_mode),
        .ecc = (int)vf_knob(card, ecc_mode),
        .numa_node = (int)vf_knob(card, numa_node),
        .pci_domain = (int)card->identity.pci_domain,
        .pci_bus = (int)card->identity.pci_bus,
        .pci_device = (int)card->identity.pci_device,
        .clock_sm_khz = (int)vf_knob(card, clock_sm_max_mhz) * 1000,
        .clock_memory_khz = (int)vf_knob(card, clock_memory_max_mhz) * 1000};
}

static int attribute(const struct facts *d, int number)
{
    switch (number) {
#define VF_ATTRIBUTE(name, which, value) \
    case which:                          \
        return value;
#include "attributes.def"
    default:
        return 0;
    }
}

VF_EXPORT CUresult cuDeviceGetAttribute(int *value, int number,
                                        CUdevice device)
{
    CUresult code = check("cuDeviceGetAttribute", value, device);
    struct facts facts;

    if (code)
        return code;
    if (number <= 0 || number > LAST_ATTRIBUTE)
        return CUDA_ERROR_INVALID_VALUE;
    facts = facts_of(device);
    *value = attribute(&facts, number);
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuDeviceComputeCapability(int *major, int *minor,
                                             CUdevice device)
{
    CUresult code = check("cuDeviceComputeCapability", major, device);

    if (code)
        return code;
    if (!minor)
        return CUDA_ERROR_INVALID_VALUE;
    cuDeviceGetAttribute(major, 75, device);
    cuDeviceGetAttribute(minor, 76, device);
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuDeviceGetProperties(CUdevprop *out, CUdevice device)
{
    CUresult code = check("cuDeviceGetProperties", out, device);
    struct facts d;

    if (code)
        return code;
    d = facts_of(device);
    *out = (CUdevprop){
        .maxThreadsPerBlock = attribute(&d, 1),
        .maxThreadsDim = {attribute(&d, 2), attribute(&d, 3),
                          attribute(&d, 4)},
        .maxGridSize = {attribute(&d, 5), attribute(&d, 6), attribute(&d, 7)},
        .sharedMemPerBlock = attribute(&d, 8),
        .totalConstantMemory = attribute(&d, 9),
        .SIMDWidth = attribute(&d, 10),
        .memPitch = attribute(&d, 11),
        .regsPerBlock = attribute(&d, 12),
        .clockRate = attribute(&d, 13),
        .textureAlign = attribute(&d, 14)};
    return CUDA_SUCCESS;
}

/* No share of the SMs can be asked for at a context's creation. */
VF_EXPORT CUresult cuDeviceGetExecAffinitySupport(int *supported, int type,
                                                  CUdevice device)
{
    CUresult code = check("cuDeviceGetExecAffinitySupport", supported, device);

    (void)type;
    if (code == CUDA_SUCCESS)
        *supported = 0;
    return code;
}

/* Nobody profiles a simulated card: the calls succeed, as without a tool. */
VF_EXPORT CUresult cuProfilerStart(void)
{
    return vf_initialised() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

VF_EXPORT CUresult cuProfilerStop(void)
{
    return vf_initialised() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}
