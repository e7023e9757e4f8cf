/* Lists of processes: only those of this slice, as our own slots know them. */
#include <stdlib.h>
#include <string.h>

#include "nv_device.h"

enum { SPARE = 32 }; /* processes that may start between two calls */

/* One list of NVML, whatever its items are. */
struct list {
    nvmlReturn_t (*fetch)(nvmlDevice_t, unsigned int *, void *);
    size_t item;
};

static unsigned int keep_ours(char *items, unsigned int count, size_t size)
{
    unsigned int kept = 0, pid;
    for (unsigned int i = 0; i < count; i++) {
        memcpy(&pid, items + i * size, sizeof pid); /* first of every item */
        if (vx_nv_is_ours(pid))
            memmove(items + kept++ * size, items + i * size, size);
    }
    return kept;
}

/* NVML's own way with room: what is needed, or the items. */
static nvmlReturn_t hand_out(const void *items, unsigned int count,
                             size_t size, unsigned int *room, void *out)
{
    bool fits = count <= *room && (count == 0 || out);
    *room = count;
    if (!fits)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    if (count)
        memcpy(out, items, count * size);
    return NVML_SUCCESS;
}

static nvmlReturn_t filtered(const struct list *l, nvmlDevice_t device,
                             unsigned int *room, void *out)
{
    unsigned int count = 0;
    if (!room || vx_nv_device(device) < 0)
        return l->fetch(device, room, out);
    nvmlReturn_t err = l->fetch(device, &count, NULL);
    if (err != NVML_SUCCESS && err != NVML_ERROR_INSUFFICIENT_SIZE)
        return err;
    count += SPARE;
    char *items = calloc(count, l->item);
    if (!items)
        return NVML_ERROR_MEMORY;
    err = l->fetch(device, &count, items);
    if (err == NVML_SUCCESS)
        err = hand_out(items, keep_ours(items, count, l->item), l->item, room,
                       out);
    free(items);
    return err;
}

#define RUNNING(name, type)                                                \
    static nvmlReturn_t fetch_##name(nvmlDevice_t device,                  \
                                     unsigned int *count, void *items)     \
    {                                                                      \
        return vx_nv()->name(device, count, items);                        \
    }                                                                      \
    nvmlReturn_t name(nvmlDevice_t device, unsigned int *count,            \
                      type *items)                                         \
    {                                                                      \
        static const struct list l = {fetch_##name, sizeof(type)};         \
        return filtered(&l, device, count, items);                         \
    }

RUNNING(nvmlDeviceGetComputeRunningProcesses, nvmlProcessInfo_v1_t)
RUNNING(nvmlDeviceGetComputeRunningProcesses_v2, nvmlProcessInfo_v2_t)
RUNNING(nvmlDeviceGetComputeRunningProcesses_v3, nvmlProcessInfo_t)
RUNNING(nvmlDeviceGetGraphicsRunningProcesses, nvmlProcessInfo_v1_t)
RUNNING(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlProcessInfo_v2_t)
RUNNING(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlProcessInfo_t)
RUNNING(nvmlDeviceGetMPSComputeRunningProcesses, nvmlProcessInfo_v1_t)
RUNNING(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlProcessInfo_v2_t)
RUNNING(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlProcessInfo_t)

/* What the driver filled in, filtered in place: fewer always fit. */
nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(
    nvmlDevice_t device, nvmlProcessDetailList_t *list)
{
    nvmlReturn_t err =
        vx_nv()->nvmlDeviceGetRunningProcessDetailList(device, list);
    if (err == NVML_SUCCESS && list->procArray && vx_nv_device(device) >= 0)
        list->numProcArrayEntries =
            keep_ours((char *)list->procArray, list->numProcArrayEntries,
                      sizeof list->procArray[0]);
    return err;
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(
    nvmlDevice_t device, nvmlProcessUtilizationSample_t *samples,
    unsigned int *count, unsigned long long since)
{
    nvmlReturn_t err = vx_nv()->nvmlDeviceGetProcessUtilization(
        device, samples, count, since);
    if (err == NVML_SUCCESS && samples && count && vx_nv_device(device) >= 0)
        *count = keep_ours((char *)samples, *count, sizeof samples[0]);
    return err;
}

nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(
    nvmlDevice_t device, nvmlProcessesUtilizationInfo_t *info)
{
    nvmlReturn_t err =
        vx_nv()->nvmlDeviceGetProcessesUtilizationInfo(device, info);
    if (err != NVML_SUCCESS || !info->procUtilArray || vx_nv_device(device) < 0)
        return err;
    unsigned int kept = 0;
    for (unsigned int i = 0; i < info->processSamplesCount; i++)
        if (vx_nv_is_ours(info->procUtilArray[i].pid))
            info->procUtilArray[kept++] = info->procUtilArray[i];
    info->processSamplesCount = kept;
    return err;
}
