/* Which CUDA and NVML names are ours, and what is nearly ours. */
#include <string.h>

#include "cu_real.h"
#include "cu_table.h"
#include "log.h"
#include "vxpu/shim.h"

#define VX_CU(class, name, params) \
    {#name, offsetof(struct vx_cu_real, name), (void *)name},
#define VX_CU_USE(name, params) \
    {#name, offsetof(struct vx_cu_real, name), NULL},
const struct vx_cu_entry vx_cu_entries[] = {
#include "hooks.def"
};
#define VX_NV(class, name, params) \
    {#name, offsetof(struct vx_nv_real, name), (void *)name},
#define VX_NV_USE(name, params) \
    {#name, offsetof(struct vx_nv_real, name), NULL},
const struct vx_cu_entry vx_nv_entries[] = {
#include "hooks.def"
};
const unsigned vx_cu_entry_count = sizeof vx_cu_entries / sizeof *vx_cu_entries;
const unsigned vx_nv_entry_count = sizeof vx_nv_entries / sizeof *vx_nv_entries;

/* "cuFoo_v3_ptsz" -> length of "cuFoo". */
static size_t base_length(const char *name)
{
    size_t n = strlen(name);
    if (n > 5 && (strcmp(name + n - 5, "_ptsz") == 0 ||
                  strcmp(name + n - 5, "_ptds") == 0))
        n -= 5;
    size_t digits = n;
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        digits--;
    if (digits < n && digits > 2 && memcmp(name + digits - 2, "_v", 2) == 0)
        n = digits - 2;
    return n;
}

static bool is_cuda(const char *name)
{
    return name[0] == 'c' && name[1] == 'u';
}

static bool is_nvml(const char *name)
{
    return strncmp(name, "nvml", 4) == 0;
}

static const struct vx_cu_entry *entries_for(const char *name, unsigned *count)
{
    *count = is_cuda(name) ? vx_cu_entry_count
                           : is_nvml(name) ? vx_nv_entry_count : 0;
    return is_cuda(name) ? vx_cu_entries : vx_nv_entries;
}

void *vx_cu_wrapper_of(const char *name)
{
    unsigned count;
    const struct vx_cu_entry *e = entries_for(name, &count);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(e[i].name, name) == 0)
            return e[i].wrapper;
    return NULL;
}

void *vxpu_wrapper(const char *name)
{
    return vx_cu_wrapper_of(name);
}

enum vx_name vx_cu_name(const char *name)
{
    unsigned count;
    const struct vx_cu_entry *e = entries_for(name, &count);
    size_t base = count ? base_length(name) : 0;
    enum vx_name what = VX_NAME_OTHER;
    for (unsigned i = 0; i < count; i++) {
        if (strncmp(e[i].name, name, base) != 0)
            continue;
        if (strcmp(e[i].name, name) == 0)
            return e[i].wrapper ? VX_NAME_HOOKED : VX_NAME_OTHER;
        if (e[i].wrapper && base_length(e[i].name) == base)
            what = VX_NAME_VARIANT;
    }
    return what;
}

bool vx_cu_admit_variant(const char *name)
{
    if (vx_session_mode() != VX_LIMIT)
        return true;
    vx_session_count_unknown_symbol();
    bool strict = vx_session_strict_symbols();
    vx_log(1, "%s: a variant that this library does not know%s", name,
           strict ? ", withheld" : "");
    return !strict;
}
