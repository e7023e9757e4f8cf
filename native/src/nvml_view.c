/* Memory and utilisation of the slice's cards as NVML tells them. */
#include <stdlib.h>
#include <string.h>

#include "nv_device.h"
#include "session.h"
#include "view.h"

enum { CACHED = 32 };

struct seen {
    _Atomic(nvmlDevice_t) device;
    _Atomic int index;
};

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "GPU-" or "MIG-" and 32 hexadecimal digits with dashes. */
static bool parse_uuid(const char *text, unsigned char uuid[16])
{
    const char *at = strchr(text, '-');
    int digits = 0;
    memset(uuid, 0, 16);
    for (at = at ? at + 1 : ""; *at && digits < 32; at++) {
        int value = digit(*at);
        if (value < 0)
            continue;
        uuid[digits / 2] = (unsigned char)(uuid[digits / 2] << 4 | value);
        digits++;
    }
    return digits == 32;
}

static int ask(nvmlDevice_t device)
{
    char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
    unsigned char uuid[16];
    if (vx_nv()->nvmlDeviceGetUUID(device, text, sizeof text) != NVML_SUCCESS ||
        !parse_uuid(text, uuid))
        return -1;
    return vx_session_device_of(uuid);
}

int vx_nv_device(nvmlDevice_t device)
{
    static struct seen cache[CACHED];
    if (!device || vx_cu_mode() != VX_LIMIT)
        return -1;
    struct seen *s = &cache[((uintptr_t)device >> 4) % CACHED];
    if (atomic_load(&s->device) == device)
        return atomic_load(&s->index);
    int index = ask(device);
    if (index < 0)
        return -1;
    /* First come, first kept: nobody else writes what one has taken. */
    nvmlDevice_t none = NULL, taken = (nvmlDevice_t)(uintptr_t)1;
    if (atomic_compare_exchange_strong(&s->device, &none, taken)) {
        atomic_store(&s->index, index);
        atomic_store(&s->device, device);
    }
    return index;
}

bool vx_nv_is_ours(unsigned int pid)
{
    return vx_session_has_pid(pid);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *m)
{
    nvmlReturn_t err = vx_nv()->nvmlDeviceGetMemoryInfo(device, m);
    int index = err == NVML_SUCCESS ? vx_nv_device(device) : -1;
    if (index < 0)
        return err;
    struct vx_view v = vx_view_of(index, m->total, m->free);
    *m = (nvmlMemory_t){v.total, v.free, v.total - v.free};
    return err;
}

/* What the driver keeps for itself is not the slice's: reserved is 0. */
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device,
                                        nvmlMemory_v2_t *m)
{
    nvmlReturn_t err = vx_nv()->nvmlDeviceGetMemoryInfo_v2(device, m);
    int index = err == NVML_SUCCESS ? vx_nv_device(device) : -1;
    if (index < 0)
        return err;
    struct vx_view v = vx_view_of(index, m->total, m->free);
    m->total = v.total;
    m->reserved = 0;
    m->free = v.free;
    m->used = v.total - v.free;
    return err;
}

/* Each of our processes' newest sample, in per cent of the whole card. */
static nvmlReturn_t sum_of_ours(nvmlDevice_t device, nvmlUtilization_t *sum)
{
    unsigned int count = 0;
    nvmlProcessUtilizationSample_t *s;
    nvmlReturn_t err = vx_nv()->nvmlDeviceGetProcessUtilization(device, NULL,
                                                                &count, 0);
    if (err != NVML_ERROR_INSUFFICIENT_SIZE)
        return err;
    count += 16; /* that start meanwhile */
    if (!(s = calloc(count, sizeof *s)))
        return NVML_ERROR_MEMORY;
    err = vx_nv()->nvmlDeviceGetProcessUtilization(device, s, &count, 0);
    for (unsigned int i = 0; err == NVML_SUCCESS && i < count; i++) {
        bool newest = vx_nv_is_ours(s[i].pid);
        for (unsigned int j = 0; newest && j < count; j++)
            newest = s[j].pid != s[i].pid || s[j].timeStamp <= s[i].timeStamp;
        if (!newest)
            continue;
        sum->gpu += s[i].smUtil;
        sum->memory += s[i].memUtil;
    }
    free(s);
    return err;
}

static unsigned int of_share(unsigned int percent, uint64_t share)
{
    uint64_t scaled = share ? (uint64_t)percent * 1000 / share : 100;
    return percent == 0 ? 0 : scaled > 100 ? 100 : (unsigned int)scaled;
}

/*
 * A slice that uses all of its share reads 100 per cent: what its processes
 * used of the card, over the share. Others' use does not show.
 */
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device,
                                           nvmlUtilization_t *u)
{
    nvmlUtilization_t sum = {0};
    nvmlReturn_t err = vx_nv()->nvmlDeviceGetUtilizationRates(device, u);
    int index = err == NVML_SUCCESS ? vx_nv_device(device) : -1;
    if (index < 0)
        return err;
    nvmlReturn_t told = sum_of_ours(device, &sum);
    if (told != NVML_SUCCESS && told != NVML_ERROR_NOT_FOUND)
        return err;
    uint64_t share = atomic_load(
        &vx_session_limits((unsigned)index)->share_permille);
    u->gpu = of_share(sum.gpu, share);
    u->memory = of_share(sum.memory, share);
    return err;
}
