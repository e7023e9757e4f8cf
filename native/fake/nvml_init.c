/* NVML: initialisation, the system, and texts. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nvml_lib.h"
#include "parts.h"
#include "version.h"

static _Atomic unsigned users;

bool nv_ready(void)
{
    return users > 0;
}

VF_EXPORT nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    CUresult fault;

    if (vf_inject("nvmlInit", &fault))
        return (nvmlReturn_t)fault;
    if (!vf_count() && !(flags & NVML_INIT_FLAG_NO_GPUS))
        return NVML_ERROR_DRIVER_NOT_LOADED;
    users++;
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlInit_v2(void)
{
    return nvmlInitWithFlags(0);
}

VF_EXPORT nvmlReturn_t nvmlInit(void)
{
    return nvmlInitWithFlags(0);
}

VF_EXPORT nvmlReturn_t nvmlShutdown(void)
{
    unsigned have = users;

    while (have)
        if (atomic_compare_exchange_weak(&users, &have, have - 1))
            return NVML_SUCCESS;
    return NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t nv_text(const char *text, char *out, unsigned int size)
{
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (strlen(text) >= size)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(out, text);
    return NVML_SUCCESS;
}

static nvmlReturn_t system_text(const char *text, char *out, unsigned size)
{
    return nv_ready() ? nv_text(text, out, size) : NVML_ERROR_UNINITIALIZED;
}

VF_EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char *version,
                                                  unsigned int size)
{
    return system_text(VF_DRIVER_NAME, version, size);
}

VF_EXPORT nvmlReturn_t nvmlSystemGetNVMLVersion(char *version,
                                                unsigned int size)
{
    return nv_text(VF_NVML_NAME, version, size); /* also before nvmlInit */
}

VF_EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    if (!nv_ready())
        return NVML_ERROR_UNINITIALIZED;
    if (!version)
        return NVML_ERROR_INVALID_ARGUMENT;
    *version = VF_DRIVER_VERSION;
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
    return nvmlSystemGetCudaDriverVersion_v2(version);
}

VF_EXPORT nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name,
                                                unsigned int size)
{
    char path[32], text[4096];
    FILE *file;
    size_t length;

    if (!nv_ready())
        return NVML_ERROR_UNINITIALIZED;
    if (!name || !size)
        return NVML_ERROR_INVALID_ARGUMENT;
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    file = fopen(path, "re");
    if (!file)
        return NVML_ERROR_NOT_FOUND;
    length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    snprintf(name, size, "%s", text); /* cut short where it must */
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlUnitGetCount(unsigned int *count)
{
    if (!nv_ready())
        return NVML_ERROR_UNINITIALIZED;
    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    return NVML_SUCCESS;
}

static const struct {
    nvmlReturn_t code;
    const char *text;
} texts[] = {
    {NVML_SUCCESS, "Success"},
    {NVML_ERROR_UNINITIALIZED, "Uninitialized"},
    {NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument"},
    {NVML_ERROR_NOT_SUPPORTED, "Not Supported"},
    {NVML_ERROR_NO_PERMISSION, "Insufficient Permissions"},
    {NVML_ERROR_ALREADY_INITIALIZED, "Already Initialized"},
    {NVML_ERROR_NOT_FOUND, "Not Found"},
    {NVML_ERROR_INSUFFICIENT_SIZE, "Insufficient Size"},
    {NVML_ERROR_INSUFFICIENT_POWER, "Insufficient External Power"},
    {NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded"},
    {NVML_ERROR_TIMEOUT, "Timeout"},
    {NVML_ERROR_IRQ_ISSUE, "Interrupt Request Issue"},
    {NVML_ERROR_LIBRARY_NOT_FOUND, "NVML Shared Library Not Found"},
    {NVML_ERROR_FUNCTION_NOT_FOUND, "Function Not Found"},
    {NVML_ERROR_CORRUPTED_INFOROM, "Corrupted infoROM"},
    {NVML_ERROR_GPU_IS_LOST, "GPU is lost"},
    {NVML_ERROR_RESET_REQUIRED, "GPU requires restart"},
    {NVML_ERROR_OPERATING_SYSTEM, "The operating system blocked the request"},
    {NVML_ERROR_LIB_RM_VERSION_MISMATCH, "Driver/library version mismatch"},
    {NVML_ERROR_IN_USE, "In use by another client"},
    {NVML_ERROR_MEMORY, "Insufficient Memory"},
    {NVML_ERROR_NO_DATA, "No data"},
    {NVML_ERROR_INSUFFICIENT_RESOURCES, "Insufficient Resources"},
    {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "Argument version mismatch"},
    {NVML_ERROR_NOT_READY, "System is not in ready state"},
    {NVML_ERROR_GPU_NOT_FOUND, "No GPUs found"},
    {NVML_ERROR_INVALID_STATE, "Invalid State"},
};

VF_EXPORT const char *nvmlErrorString(nvmlReturn_t code)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].code == code)
            return texts[i].text;
    return "Unknown Error";
}
