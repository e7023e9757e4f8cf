/* NVML: the processes on a card, by all three ABIs, and their accounts. */
#include <string.h>

#include "account.h"
#include "nvml_lib.h"

/* ---- running now ------------------------------------------------------- */

static void instance_ids(const struct vf_card *card, int index,
                         nvmlProcessInfo_t *info)
{
    const struct vf_nvml_process *process = &card->nvml.processes[index];
    const struct vf_gpu_instance *instance;

    info->gpuInstanceId = info->computeInstanceId = NVML_NO_INSTANCE;
    if (!process->instance)
        return;
    instance = &card->nvml.instances[process->instance - 1];
    info->gpuInstanceId = instance->id;
    info->computeInstanceId = instance->compute[process->compute - 1].id;
}

/* With a context or memory, and visible in the caller's pid namespace. */
static bool is_running(nvmlDevice_t device, struct vf_card *card, int index,
                       nvmlProcessInfo_t *info)
{
    struct vf_process *process = &card->processes[index];
    const struct vf_nvml_process *nvml = &card->nvml.processes[index];
    pid_t pid = vf_process_pid(card, index);

    if (pid <= 0)
        return false;
    if (nv_is_mig(device) &&
        (nvml->instance != (uint32_t)device->instance + 1 ||
         nvml->compute != (uint32_t)device->compute + 1))
        return false;
    info->pid = (unsigned)pid;
    info->usedGpuMemory = atomic_load(&process->memory_bytes);
    instance_ids(card, index, info);
    return info->usedGpuMemory || atomic_load(&process->contexts);
}

static unsigned running(nvmlDevice_t device, struct vf_card *card,
                        nvmlProcessInfo_t infos[VF_PROCESSES])
{
    unsigned count = 0;

    vf_reap(card);
    for (int i = 0; i < VF_PROCESSES; i++)
        if (is_running(device, card, i, &infos[count]))
            count++;
    return count;
}

/* Each ABI is the beginning of the newest structure. */
static nvmlReturn_t list(const char *call, nvmlDevice_t device, bool any,
                         unsigned int *count, void *out, size_t size)
{
    nvmlProcessInfo_t infos[VF_PROCESSES];
    struct vf_card *card;
    nvmlReturn_t code = nv_any(call, device, count, &card);
    unsigned have, room;

    if (code)
        return code;
    if (vf_knob(card, unsupported_processes))
        return NVML_ERROR_NOT_SUPPORTED;
    room = *count;
    have = any ? running(device, card, infos) : 0;
    *count = have;
    if (have && (!out || room < have))
        return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < have; i++)
        memcpy((char *)out + i * size, &infos[i], size);
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(
    nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v1_t *infos)
{
    return list(__func__, device, true, count, infos, sizeof *infos);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(
    nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v2_t *infos)
{
    return list(__func__, device, true, count, infos, sizeof *infos);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(
    nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos)
{
    return list(__func__, device, true, count, infos, sizeof *infos);
}

/* Nobody draws on a simulated card, and its MPS has no clients. */
#define VF_EMPTY_LIST(name, type)                                        \
    VF_EXPORT nvmlReturn_t name(nvmlDevice_t device, unsigned int *count, \
                                type *infos)                             \
    {                                                                    \
        return list(#name, device, false, count, infos, sizeof *infos);  \
    }
VF_EMPTY_LIST(nvmlDeviceGetGraphicsRunningProcesses, nvmlProcessInfo_v1_t)
VF_EMPTY_LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlProcessInfo_v2_t)
VF_EMPTY_LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlProcessInfo_t)
VF_EMPTY_LIST(nvmlDeviceGetMPSComputeRunningProcesses, nvmlProcessInfo_v1_t)
VF_EMPTY_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlProcessInfo_v2_t)
VF_EMPTY_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlProcessInfo_t)

VF_EXPORT nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(
    nvmlDevice_t device, nvmlProcessDetailList_v1_t *details)
{
    enum { COMPUTE = 0, MODES = 4 };
    nvmlProcessInfo_t infos[VF_PROCESSES];
    nvmlReturn_t code = details ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
    unsigned count = VF_PROCESSES, room;

    if (code)
        return code;
    if (details->version != nvmlProcessDetailList_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (details->mode >= MODES)
        return NVML_ERROR_INVALID_ARGUMENT;
    code = list(__func__, device, details->mode % 3 == COMPUTE, &count, infos,
                sizeof *infos);
    if (code)
        return code;
    room = details->numProcArrayEntries;
    details->numProcArrayEntries = count;
    if (count && (!details->procArray || room < count))
        return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < count; i++)
        details->procArray[i] = (nvmlProcessDetail_v1_t){
            infos[i].pid, infos[i].usedGpuMemory, infos[i].gpuInstanceId,
            infos[i].computeInstanceId, 0};
    return NVML_SUCCESS;
}

/* ---- accounting -------------------------------------------------------- */

static nvmlReturn_t accounting(const char *call, nvmlDevice_t device,
                               const void *out, struct vf_card **card)
{
    nvmlReturn_t code = nv_whole(call, device, out, card);

    if (!code && vf_knob(*card, unsupported_accounting))
        return NVML_ERROR_NOT_SUPPORTED;
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetAccountingMode(nvmlDevice_t device,
                                                   unsigned int *mode)
{
    struct vf_card *card;
    nvmlReturn_t code = accounting(__func__, device, mode, &card);

    if (!code)
        *mode = vf_knob(card, accounting) != 0;
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceSetAccountingMode(nvmlDevice_t device,
                                                   unsigned int mode)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_root(__func__, device, &card);

    if (code)
        return code;
    if (vf_knob(card, unsupported_accounting))
        return NVML_ERROR_NOT_SUPPORTED;
    if (mode > NVML_FEATURE_ENABLED)
        return NVML_ERROR_INVALID_ARGUMENT;
    vf_knob_set(card, accounting, mode);
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceClearAccountingPids(nvmlDevice_t device)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_root(__func__, device, &card);

    if (code)
        return code;
    vf_lock(card);
    memset(card->nvml.accounts, 0, sizeof card->nvml.accounts);
    vf_unlock(card);
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetAccountingBufferSize(nvmlDevice_t device,
                                                         unsigned int *size)
{
    struct vf_card *card;
    nvmlReturn_t code = accounting(__func__, device, size, &card);

    if (!code)
        *size = VF_ACCOUNTS;
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetAccountingStats(nvmlDevice_t device,
                                                    unsigned int pid,
                                                    nvmlAccountingStats_t *out)
{
    struct vf_card *card;
    nvmlReturn_t code = accounting(__func__, device, out, &card);
    struct vf_account account;
    bool found;

    if (code)
        return code;
    if (!vf_knob(card, accounting))
        return NVML_ERROR_NOT_SUPPORTED;
    vf_reap(card);
    vf_advance(card);
    vf_lock(card);
    found = vf_account_find(card, pid, &account);
    vf_unlock(card);
    if (!found)
        return NVML_ERROR_NOT_FOUND;
    memset(out, 0, sizeof *out);
    if (account.wall_ns)
        out->gpuUtilization = (unsigned)(account.busy_ns * 100 /
                                         account.wall_ns);
    out->memoryUtilization = out->gpuUtilization / 2;
    out->maxMemoryUsage = account.peak_bytes;
    out->time = account.running ? 0 : account.wall_ns / 1000000;
    out->startTime = account.start_ns / 1000;
    out->isRunning = account.running;
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetAccountingPids(nvmlDevice_t device,
                                                   unsigned int *count,
                                                   unsigned int *pids)
{
    unsigned found[VF_PROCESSES + VF_ACCOUNTS], have = 0, room;
    struct vf_card *card;
    nvmlReturn_t code = accounting(__func__, device, count, &card);

    if (code)
        return code;
    vf_reap(card);
    for (int i = 0; i < VF_PROCESSES; i++)
        if (vf_process_pid(card, i) > 0)
            found[have++] = (unsigned)vf_process_pid(card, i);
    for (int i = 0; i < VF_ACCOUNTS; i++)
        if (card->nvml.accounts[i].used)
            found[have++] = (unsigned)card->nvml.accounts[i].pid;
    room = *count;
    *count = have;
    if (have && (!pids || room < have))
        return NVML_ERROR_INSUFFICIENT_SIZE;
    if (have)
        memcpy(pids, found, have * sizeof *pids);
    return NVML_SUCCESS;
}
