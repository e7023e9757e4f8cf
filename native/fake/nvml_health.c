/* NVML: memory errors and what the card did about them. */
#include "nvml_lib.h"

static nvmlReturn_t begin(const char *call, nvmlDevice_t device,
                          const void *out, enum vf_knob unsupported,
                          struct vf_card **card)
{
    nvmlReturn_t code = nv_whole(call, device, out, card);

    if (!code && (*card)->knobs[unsupported])
        return NVML_ERROR_NOT_SUPPORTED;
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device,
                                            unsigned int *current,
                                            unsigned int *pending)
{
    struct vf_card *card;
    nvmlReturn_t code = begin(__func__, device, current,
                              VF_KNOB_unsupported_ecc, &card);

    if (code)
        return code;
    if (!pending)
        return NVML_ERROR_INVALID_ARGUMENT;
    *current = *pending = (unsigned)vf_knob(card, ecc_mode);
    return NVML_SUCCESS;
}

static uint64_t errors(struct vf_card *card, unsigned type, unsigned counter)
{
    if (type == NVML_MEMORY_ERROR_TYPE_CORRECTED)
        return counter == NVML_VOLATILE_ECC ? vf_knob(card, ecc_corrected)
                                            : vf_knob(card,
                                                      ecc_corrected_total);
    return counter == NVML_VOLATILE_ECC ? vf_knob(card, ecc_uncorrected)
                                        : vf_knob(card,
                                                  ecc_uncorrected_total);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device,
                                                   unsigned int type,
                                                   unsigned int counter,
                                                   unsigned long long *count)
{
    struct vf_card *card;
    nvmlReturn_t code = begin(__func__, device, count,
                              VF_KNOB_unsupported_ecc, &card);

    if (code)
        return code;
    if (type > NVML_MEMORY_ERROR_TYPE_UNCORRECTED ||
        counter > NVML_AGGREGATE_ECC)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!vf_knob(card, ecc_mode))
        return NVML_ERROR_NOT_SUPPORTED;
    *count = errors(card, type, counter);
    return NVML_SUCCESS;
}

/* All errors of the simulated card are in its memory. */
VF_EXPORT nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(
    nvmlDevice_t device, unsigned int type, unsigned int counter,
    unsigned int location, unsigned long long *count)
{
    enum { DEVICE_MEMORY = 2, LOCATIONS = 8 };
    nvmlReturn_t code;

    if (nv_ready() && location >= LOCATIONS)
        return NVML_ERROR_INVALID_ARGUMENT;
    code = nvmlDeviceGetTotalEccErrors(device, type, counter, count);
    if (!code && location != DEVICE_MEMORY)
        *count = 0;
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceClearEccErrorCounts(nvmlDevice_t device,
                                                     unsigned int counter)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_root(__func__, device, &card);

    if (code)
        return code;
    if (counter > NVML_AGGREGATE_ECC)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (counter == NVML_VOLATILE_ECC) {
        vf_knob_set(card, ecc_corrected, 0);
        vf_knob_set(card, ecc_uncorrected, 0);
    } else {
        vf_knob_set(card, ecc_corrected_total, 0);
        vf_knob_set(card, ecc_uncorrected_total, 0);
    }
    return NVML_SUCCESS;
}

/* Pages have no addresses that mean anything here: they are numbered. */
static nvmlReturn_t retired(const char *call, nvmlDevice_t device,
                            unsigned cause, unsigned *count,
                            unsigned long long *addresses,
                            unsigned long long *times)
{
    struct vf_card *card;
    nvmlReturn_t code = begin(call, device, count, VF_KNOB_unsupported_retired,
                              &card);
    unsigned have, room;

    if (code)
        return code;
    if (cause > 1)
        return NVML_ERROR_INVALID_ARGUMENT;
    room = *count;
    have = (unsigned)(cause ? vf_knob(card, retired_double)
                            : vf_knob(card, retired_single));
    *count = have;
    if (have && (!addresses || room < have))
        return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < have; i++) {
        addresses[i] = (unsigned long long)(i + 1) << 16;
        if (times)
            times[i] = 0;
    }
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t device,
                                                 unsigned int cause,
                                                 unsigned int *count,
                                                 unsigned long long *addresses)
{
    return retired(__func__, device, cause, count, addresses, NULL);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetRetiredPages_v2(
    nvmlDevice_t device, unsigned int cause, unsigned int *count,
    unsigned long long *addresses, unsigned long long *times)
{
    return retired(__func__, device, cause, count, addresses, times);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(
    nvmlDevice_t device, unsigned int *pending)
{
    struct vf_card *card;
    nvmlReturn_t code = begin(__func__, device, pending,
                              VF_KNOB_unsupported_retired, &card);

    if (!code)
        *pending = vf_knob(card, retired_pending) != 0;
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device,
                                                 unsigned int *corrected,
                                                 unsigned int *uncorrected,
                                                 unsigned int *pending,
                                                 unsigned int *failed)
{
    struct vf_card *card;
    nvmlReturn_t code = begin(__func__, device, corrected,
                              VF_KNOB_unsupported_remapped, &card);

    if (code)
        return code;
    if (!uncorrected || !pending || !failed)
        return NVML_ERROR_INVALID_ARGUMENT;
    *corrected = (unsigned)vf_knob(card, remapped_corrected);
    *uncorrected = (unsigned)vf_knob(card, remapped_uncorrected);
    *pending = vf_knob(card, remapped_pending) != 0;
    *failed = vf_knob(card, remapped_failed) != 0;
    return NVML_SUCCESS;
}
