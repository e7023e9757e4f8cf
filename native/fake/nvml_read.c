/* NVML: readings that an operator sets as knobs, and modes. */
#include <string.h>

#include "nvml_lib.h"

/* A reading unless its knob says that this card does not support it. */
static nvmlReturn_t read_knob(const char *call, nvmlDevice_t device,
                              enum vf_knob unsupported, enum vf_knob knob,
                              unsigned int *out)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(call, device, out, &card);

    if (code)
        return code;
    if (unsupported != VF_KNOB_COUNT && card->knobs[unsupported])
        return NVML_ERROR_NOT_SUPPORTED;
    *out = (unsigned)card->knobs[knob];
    return NVML_SUCCESS;
}

static nvmlReturn_t read_long(const char *call, nvmlDevice_t device,
                              enum vf_knob unsupported, enum vf_knob knob,
                              unsigned long long *out)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(call, device, out, &card);

    if (code)
        return code;
    if (card->knobs[unsupported])
        return NVML_ERROR_NOT_SUPPORTED;
    *out = card->knobs[knob];
    return NVML_SUCCESS;
}

static nvmlReturn_t write_knob(const char *call, nvmlDevice_t device,
                               enum vf_knob knob, unsigned value,
                               unsigned most)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_root(call, device, &card);

    if (code)
        return code;
    if (value > most)
        return NVML_ERROR_INVALID_ARGUMENT;
    atomic_store(&card->knobs[knob], value);
    return NVML_SUCCESS;
}

/* ---- heat and power ---------------------------------------------------- */

VF_EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device,
                                                unsigned int sensor,
                                                unsigned int *celsius)
{
    if (nv_ready() && sensor != NVML_TEMPERATURE_GPU)
        return NVML_ERROR_INVALID_ARGUMENT;
    return read_knob(__func__, device, VF_KNOB_unsupported_temperature,
                     VF_KNOB_temperature_c, celsius);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device,
                                                         unsigned int which,
                                                         unsigned int *celsius)
{
    static const unsigned limits[] = {95, 90, 105, 85};
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(__func__, device, celsius, &card);

    if (code)
        return code;
    if (which >= sizeof limits / sizeof limits[0])
        return NVML_ERROR_NOT_SUPPORTED;
    *celsius = limits[which];
    return NVML_SUCCESS;
}

/* A set figure, or between idle and full as the last sample was busy. */
VF_EXPORT nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device,
                                               unsigned int *milliwatt)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(__func__, device, milliwatt, &card);
    unsigned idle, full;

    if (code)
        return code;
    if (vf_knob(card, unsupported_power))
        return NVML_ERROR_NOT_SUPPORTED;
    *milliwatt = (unsigned)vf_knob(card, power_mw);
    if (*milliwatt)
        return NVML_SUCCESS;
    idle = (unsigned)vf_knob(card, power_idle_mw);
    full = (unsigned)vf_knob(card, power_full_mw);
    *milliwatt = idle + (full > idle ? (full - idle) * nv_busy_percent(card) /
                                           100
                                     : 0);
    return NVML_SUCCESS;
}

/* Since the driver was loaded: idle all the time, the rest by busy time. */
VF_EXPORT nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(
    nvmlDevice_t device, unsigned long long *millijoule)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(__func__, device, millijoule, &card);
    uint64_t idle, full, busy_us, now_us;

    if (code)
        return code;
    if (vf_knob(card, unsupported_energy))
        return NVML_ERROR_NOT_SUPPORTED;
    vf_advance(card);
    idle = vf_knob(card, power_idle_mw);
    full = vf_knob(card, power_full_mw);
    busy_us = atomic_load(&card->engine.busy_ns) / 1000;
    now_us = vf_now_ns() / 1000;
    *millijoule = (idle * now_us + (full > idle ? full - idle : 0) * busy_us) /
                  1000000;
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device,
                                                         unsigned int *limit)
{
    return read_knob(__func__, device, VF_KNOB_unsupported_power,
                     VF_KNOB_power_limit_mw, limit);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device,
                                                       unsigned int *limit)
{
    return read_knob(__func__, device, VF_KNOB_unsupported_power,
                     VF_KNOB_power_limit_mw, limit);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(
    nvmlDevice_t device, unsigned int *limit)
{
    return read_knob(__func__, device, VF_KNOB_unsupported_power,
                     VF_KNOB_power_full_mw, limit);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(
    nvmlDevice_t device, unsigned int *least, unsigned int *most)
{
    nvmlReturn_t code = read_knob(__func__, device, VF_KNOB_unsupported_power,
                                  VF_KNOB_power_idle_mw, least);

    return code ? code
                : read_knob(__func__, device, VF_KNOB_unsupported_power,
                            VF_KNOB_power_full_mw, most);
}

VF_EXPORT nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t device,
                                                         unsigned int limit)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_root(__func__, device, &card);

    if (code)
        return code;
    if (limit < vf_knob(card, power_idle_mw) ||
        limit > vf_knob(card, power_full_mw))
        return NVML_ERROR_INVALID_ARGUMENT;
    vf_knob_set(card, power_limit_mw, limit);
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device,
                                                     unsigned int *state)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(__func__, device, state, &card);

    if (!code)
        *state = NVML_PSTATE_0;
    return code;
}

/* ---- clocks ------------------------------------------------------------ */

VF_EXPORT nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device,
                                              unsigned int type,
                                              unsigned int *mhz)
{
    if (nv_ready() && type > NVML_CLOCK_VIDEO)
        return NVML_ERROR_INVALID_ARGUMENT;
    return read_knob(__func__, device, VF_KNOB_unsupported_clocks,
                     type == NVML_CLOCK_MEM ? VF_KNOB_clock_memory_mhz
                                            : VF_KNOB_clock_sm_mhz,
                     mhz);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device,
                                                 unsigned int type,
                                                 unsigned int *mhz)
{
    if (nv_ready() && type > NVML_CLOCK_VIDEO)
        return NVML_ERROR_INVALID_ARGUMENT;
    return read_knob(__func__, device, VF_KNOB_unsupported_clocks,
                     type == NVML_CLOCK_MEM ? VF_KNOB_clock_memory_max_mhz
                                            : VF_KNOB_clock_sm_max_mhz,
                     mhz);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(
    nvmlDevice_t device, unsigned long long *reasons)
{
    return read_long(__func__, device, VF_KNOB_unsupported_throttle,
                     VF_KNOB_throttle_reasons, reasons);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(
    nvmlDevice_t device, unsigned long long *reasons)
{
    return read_long(__func__, device, VF_KNOB_unsupported_throttle,
                     VF_KNOB_throttle_reasons, reasons);
}

static nvmlReturn_t all_reasons(const char *call, nvmlDevice_t device,
                                unsigned long long *reasons)
{
    nvmlReturn_t code = read_long(call, device, VF_KNOB_unsupported_throttle,
                                  VF_KNOB_throttle_reasons, reasons);

    if (!code)
        *reasons = 0x1ff;
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(
    nvmlDevice_t device, unsigned long long *reasons)
{
    return all_reasons(__func__, device, reasons);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(
    nvmlDevice_t device, unsigned long long *reasons)
{
    return all_reasons(__func__, device, reasons);
}

/* ---- modes ------------------------------------------------------------- */

VF_EXPORT nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device,
                                                    unsigned int *mode)
{
    return read_knob(__func__, device, VF_KNOB_COUNT, VF_KNOB_persistence,
                     mode);
}

VF_EXPORT nvmlReturn_t nvmlDeviceSetPersistenceMode(nvmlDevice_t device,
                                                    unsigned int mode)
{
    return write_knob(__func__, device, VF_KNOB_persistence, mode, 1);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device,
                                                unsigned int *mode)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_any(__func__, device, mode, &card);

    if (!code)
        *mode = (unsigned)vf_knob(card, compute_mode);
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceSetComputeMode(nvmlDevice_t device,
                                                unsigned int mode)
{
    if (nv_ready() && mode == NVML_COMPUTEMODE_EXCLUSIVE_THREAD)
        return NVML_ERROR_NOT_SUPPORTED; /* of old cards only */
    return write_knob(__func__, device, VF_KNOB_compute_mode, mode,
                      NVML_COMPUTEMODE_EXCLUSIVE_PROCESS);
}

/* ---- PCI Express ------------------------------------------------------- */

VF_EXPORT nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device,
                                                           unsigned int *out)
{
    return read_knob(__func__, device, VF_KNOB_unsupported_pcie,
                     VF_KNOB_pcie_generation, out);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device,
                                                          unsigned int *out)
{
    return read_knob(__func__, device, VF_KNOB_unsupported_pcie,
                     VF_KNOB_pcie_generation, out);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device,
                                                      unsigned int *out)
{
    return read_knob(__func__, device, VF_KNOB_unsupported_pcie,
                     VF_KNOB_pcie_width, out);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device,
                                                     unsigned int *out)
{
    return read_knob(__func__, device, VF_KNOB_unsupported_pcie,
                     VF_KNOB_pcie_width, out);
}

/* KiB a second of the last 20 ms; here as set, whatever is copied. */
VF_EXPORT nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device,
                                                   unsigned int counter,
                                                   unsigned int *value)
{
    if (nv_ready() && counter > NVML_PCIE_UTIL_RX_BYTES)
        return NVML_ERROR_INVALID_ARGUMENT;
    return read_knob(__func__, device, VF_KNOB_unsupported_pcie,
                     counter == NVML_PCIE_UTIL_TX_BYTES ? VF_KNOB_pcie_tx_kib
                                                        : VF_KNOB_pcie_rx_kib,
                     value);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t device,
                                                      unsigned int *value)
{
    return read_knob(__func__, device, VF_KNOB_unsupported_pcie,
                     VF_KNOB_pcie_replays, value);
}
