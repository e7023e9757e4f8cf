/* NVML: event sets. An event is a knob that moved since the set last looked. */
#include <stdlib.h>
#include <time.h>

#include "nvml_lib.h"

enum { POLL_MS = 5 };

struct seen {
    uint64_t xid, corrected, uncorrected, mig;
};

struct nvmlEventSet_st {
    unsigned long long types[VF_CARDS]; /* 0: not registered */
    struct seen seen[VF_CARDS];
};

static const unsigned long long KNOWN =
    nvmlEventTypeSingleBitEccError | nvmlEventTypeDoubleBitEccError |
    nvmlEventTypeXidCriticalError | nvmlEventMigConfigChange;

static struct seen look(struct vf_card *card)
{
    return (struct seen){.xid = vf_knob(card, xid),
                         .corrected = vf_knob(card, ecc_corrected),
                         .uncorrected = vf_knob(card, ecc_uncorrected),
                         .mig = atomic_load(&card->nvml.mig_mode)};
}

VF_EXPORT nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    if (!nv_ready())
        return NVML_ERROR_UNINITIALIZED;
    if (!set)
        return NVML_ERROR_INVALID_ARGUMENT;
    *set = calloc(1, sizeof **set);
    return *set ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}

VF_EXPORT nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    if (!nv_ready())
        return NVML_ERROR_UNINITIALIZED;
    free(set);
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetSupportedEventTypes(
    nvmlDevice_t device, unsigned long long *types)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(__func__, device, types, &card);

    if (!code)
        *types = vf_knob(card, unsupported_events) ? 0 : KNOWN;
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device,
                                                unsigned long long types,
                                                nvmlEventSet_t set)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(__func__, device, set, &card);

    if (code)
        return code;
    if (vf_knob(card, unsupported_events) || (types & ~KNOWN))
        return NVML_ERROR_NOT_SUPPORTED;
    if (!set->types[device->card])
        set->seen[device->card] = look(card);
    set->types[device->card] |= types;
    return NVML_SUCCESS;
}

/* One event at a time: what is told is marked as seen. */
static bool next_of(nvmlEventSet_t set, int place, nvmlEventData_t *data)
{
    struct seen now = look(vf_card(place));
    struct seen *seen = &set->seen[place];
    unsigned long long types = set->types[place];

    data->eventData = 0;
    if (now.xid != seen->xid) {
        seen->xid = now.xid;
        data->eventType = now.xid ? nvmlEventTypeXidCriticalError : 0;
        data->eventData = now.xid;
    } else if (now.uncorrected != seen->uncorrected) {
        data->eventType = now.uncorrected > seen->uncorrected
                              ? nvmlEventTypeDoubleBitEccError
                              : 0;
        seen->uncorrected = now.uncorrected;
    } else if (now.corrected != seen->corrected) {
        data->eventType = now.corrected > seen->corrected
                              ? nvmlEventTypeSingleBitEccError
                              : 0;
        seen->corrected = now.corrected;
    } else {
        data->eventType = now.mig != seen->mig ? nvmlEventMigConfigChange : 0;
        seen->mig = now.mig;
    }
    return (data->eventType & types) != 0;
}

static bool next(nvmlEventSet_t set, nvmlEventData_t *data)
{
    for (int i = 0; i < vf_count(); i++) {
        if (!set->types[i] || !next_of(set, i, data))
            continue;
        data->device = nv_device(i, -1, -1);
        data->gpuInstanceId = data->computeInstanceId = NVML_NO_INSTANCE;
        return true;
    }
    return false;
}

/* Who waits for events waits in real time: he is no part of the card. */
static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

VF_EXPORT nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set,
                                           nvmlEventData_t *data,
                                           unsigned int timeout_ms)
{
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000};
    uint64_t end = now_ms() + timeout_ms;

    if (!nv_ready())
        return NVML_ERROR_UNINITIALIZED;
    if (!set || !data)
        return NVML_ERROR_INVALID_ARGUMENT;
    while (!next(set, data)) {
        if (now_ms() >= end)
            return NVML_ERROR_TIMEOUT;
        nanosleep(&pause, NULL);
    }
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set,
                                        nvmlEventData_t *data,
                                        unsigned int timeout_ms)
{
    return nvmlEventSetWait_v2(set, data, timeout_ms);
}
