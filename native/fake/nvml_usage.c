/*
 * NVML: who uses the card, and how much. Utilisation is sampled: the driver
 * keeps what each process got in each period of 1/6 s for a few seconds, and
 * tells it in whole per cent, only of periods that are over.
 */
#include <string.h>
#include <time.h>

#include "nvml_lib.h"

enum { KEPT_PERIODS = 30, PER_CENT = 100 };
static const uint64_t PERIOD = VF_BUSY_PERIOD_NS;

/* ---- samples ----------------------------------------------------------- */

uint64_t nv_last_period(void)
{
    uint64_t now = vf_now_ns() / PERIOD;

    return now ? now - 1 : 0;
}

uint64_t nv_busy(struct vf_card *card, int index, uint64_t first,
                 uint64_t last)
{
    return vf_busy_between(card, index, first * PERIOD, (last + 1) * PERIOD);
}

static unsigned percent(uint64_t busy, uint64_t periods)
{
    uint64_t whole = periods * PERIOD;

    return busy >= whole ? PER_CENT
                         : (unsigned)((busy * PER_CENT + whole / 2) / whole);
}

/* Of all processes, the dead included. */
static unsigned period_percent(struct vf_card *card, uint64_t period)
{
    uint64_t at = period % VF_BUSY_PERIODS, busy = 0;

    if (card->nvml.gone[at].period == period)
        busy = card->nvml.gone[at].ns;
    for (uint32_t i = 0; i < card->engine.high; i++)
        busy += nv_busy(card, (int)i, period, period);
    return percent(busy, 1);
}

unsigned nv_busy_percent(struct vf_card *card)
{
    vf_advance(card);
    return period_percent(card, nv_last_period());
}

/* The model: a busy card reads or writes memory half of the time. */
static unsigned memory_percent(unsigned busy)
{
    return busy / 2;
}

/* Added to the card's time: microseconds of the epoch on a real clock. */
static uint64_t epoch_ns(void)
{
    struct timespec wall, steady;

    if (vf_clock_is_virtual())
        return 0;
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_MONOTONIC, &steady);
    return (uint64_t)(wall.tv_sec - steady.tv_sec) * 1000000000ULL +
           (uint64_t)(wall.tv_nsec - steady.tv_nsec);
}

static uint64_t stamp_us(uint64_t period)
{
    return ((period + 1) * PERIOD + epoch_ns()) / 1000;
}

/* First kept period whose stamp is later; wall clocks may jitter by 1 ms. */
static uint64_t first_after(uint64_t last, uint64_t seen_us)
{
    uint64_t first = last >= KEPT_PERIODS ? last - KEPT_PERIODS + 1 : 0;

    while (first <= last && stamp_us(first) <= seen_us + 1000)
        first++;
    return first;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(
    nvmlDevice_t device, nvmlUtilization_t *utilization)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(__func__, device, utilization, &card);

    if (code)
        return code;
    if (vf_knob(card, unsupported_utilization) ||
        atomic_load(&card->nvml.mig_mode))
        return NVML_ERROR_NOT_SUPPORTED;
    utilization->gpu = nv_busy_percent(card);
    utilization->memory = memory_percent(utilization->gpu);
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device,
                                            unsigned int type,
                                            unsigned long long seen_us,
                                            unsigned int *value_type,
                                            unsigned int *count,
                                            nvmlSample_t *samples)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(__func__, device, count, &card);
    uint64_t first, last;

    if (code)
        return code;
    if (!value_type)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (type != NVML_GPU_UTILIZATION_SAMPLES &&
        type != NVML_MEMORY_UTILIZATION_SAMPLES)
        return NVML_ERROR_NOT_SUPPORTED;
    *value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
    vf_advance(card);
    last = nv_last_period();
    first = first_after(last, seen_us);
    if (first > last)
        return NVML_ERROR_NOT_FOUND;
    if (samples && *count < last - first + 1)
        first = last + 1 - *count; /* as many of the newest as fit */
    *count = (unsigned)(last - first + 1);
    for (uint64_t p = first; samples && p <= last; p++) {
        unsigned busy = period_percent(card, p);

        samples[p - first].timeStamp = stamp_us(p);
        samples[p - first].sampleValue.ullVal = 0;
        samples[p - first].sampleValue.uiVal =
            type == NVML_GPU_UTILIZATION_SAMPLES ? busy
                                                 : memory_percent(busy);
    }
    return NVML_SUCCESS;
}

/* ---- samples of each process ------------------------------------------- */

/* One process's mean over the new periods since it began; false for none. */
static bool sample_of(struct vf_card *card, int index, uint64_t first,
                      uint64_t last, nvmlProcessUtilizationInfo_v1_t *sample)
{
    pid_t pid = vf_process_pid(card, index);
    uint64_t born = card->nvml.processes[index].since_ns / PERIOD;
    uint64_t newest = last;
    unsigned used;

    if (first < born)
        first = born;
    if (pid <= 0 || first > last)
        return false;
    used = percent(nv_busy(card, index, first, last), last - first + 1);
    if (!used)
        return false;
    while (newest > first && !nv_busy(card, index, newest, newest))
        newest--;
    *sample = (nvmlProcessUtilizationInfo_v1_t){
        .timeStamp = stamp_us(newest), .pid = (unsigned)pid, .smUtil = used,
        .memUtil = memory_percent(used)};
    return true;
}

/* All of them, into `samples` (NULL: counted only). */
static unsigned collect(struct vf_card *card, uint64_t seen_us,
                        nvmlProcessUtilizationInfo_v1_t *samples)
{
    nvmlProcessUtilizationInfo_v1_t sample;
    uint64_t first, last;
    unsigned count = 0;

    vf_reap(card);
    vf_advance(card);
    last = nv_last_period();
    first = first_after(last, seen_us);
    for (int i = 0; first <= last && i < VF_PROCESSES; i++)
        if (sample_of(card, i, first, last, &sample)) {
            if (samples)
                samples[count] = sample;
            count++;
        }
    return count;
}

static nvmlReturn_t may_sample(struct vf_card *card)
{
    return vf_knob(card, unsupported_process_utilization) ||
                   atomic_load(&card->nvml.mig_mode)
               ? NVML_ERROR_NOT_SUPPORTED
               : NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(
    nvmlDevice_t device, nvmlProcessesUtilizationInfo_v1_t *info)
{
    nvmlProcessUtilizationInfo_v1_t samples[VF_PROCESSES];
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(__func__, device, info, &card);
    unsigned have;

    if (!code)
        code = may_sample(card);
    if (code)
        return code;
    if (info->version != nvmlProcessesUtilizationInfo_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    have = collect(card, info->lastSeenTimeStamp, samples);
    if (!have)
        return NVML_ERROR_NOT_FOUND;
    if (!info->procUtilArray || info->processSamplesCount < have) {
        info->processSamplesCount = have;
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    info->processSamplesCount = have;
    memcpy(info->procUtilArray, samples, have * sizeof *samples);
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetProcessUtilization(
    nvmlDevice_t device, nvmlProcessUtilizationSample_t *out,
    unsigned int *count, unsigned long long seen_us)
{
    nvmlProcessUtilizationInfo_v1_t samples[VF_PROCESSES];
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(__func__, device, count, &card);
    unsigned have, room;

    if (!code)
        code = may_sample(card);
    if (code)
        return code;
    room = *count;
    have = collect(card, seen_us, samples);
    if (!have)
        return NVML_ERROR_NOT_FOUND;
    *count = have;
    if (!out || room < have)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < have; i++)
        out[i] = (nvmlProcessUtilizationSample_t){
            .pid = samples[i].pid, .timeStamp = samples[i].timeStamp,
            .smUtil = samples[i].smUtil, .memUtil = samples[i].memUtil};
    return NVML_SUCCESS;
}
