/* Finding the real CUDA driver and NVML in this process. */
#include "cu_real.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

const struct vx_cu_real *_Atomic vx_cu_found;
const struct vx_nv_real *_Atomic vx_nv_found;

static struct vx_cu_real cu_table;
static struct vx_nv_real nv_table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

CUresult vx_cu_absent(void)
{
    return CUDA_ERROR_NOT_FOUND;
}

nvmlReturn_t vx_nv_absent(void)
{
    return NVML_ERROR_FUNCTION_NOT_FOUND;
}

struct member {
    const char *name;
    size_t offset;
};

#define VX_CU(class, name, params) {#name, offsetof(struct vx_cu_real, name)},
#define VX_CU_USE(name, params) {#name, offsetof(struct vx_cu_real, name)},
static const struct member cu_members[] = {
#include "hooks.def"
};
#define VX_NV(class, name, params) {#name, offsetof(struct vx_nv_real, name)},
#define VX_NV_USE(name, params) {#name, offsetof(struct vx_nv_real, name)},
static const struct member nv_members[] = {
#include "hooks.def"
};

struct library {
    const char *prefix; /* of the file's name */
    const char *probe;  /* a call that every version has */
    const struct member *members;
    unsigned count;
    void *table;
    void *absent;
};

static const struct library cuda = {
    "libcuda.so", "cuInit", cu_members, sizeof cu_members / sizeof *cu_members,
    &cu_table, (void *)vx_cu_absent};
static const struct library nvml = {
    "libnvidia-ml.so", "nvmlShutdown", nv_members,
    sizeof nv_members / sizeof *nv_members, &nv_table, (void *)vx_nv_absent};

struct search {
    const char *prefix;
    char path[4096];
};

static int note_library(struct dl_phdr_info *info, size_t size, void *out)
{
    struct search *s = out;
    (void)size;
    const char *base = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    base = base ? base + 1 : info->dlpi_name;
    if (!base || strncmp(base, s->prefix, strlen(s->prefix)) != 0)
        return 0;
    snprintf(s->path, sizeof s->path, "%s", info->dlpi_name);
    return 1;
}

/* A handle on the library in this process, RTLD_NEXT, or NULL. */
static void *find_library(const struct library *l)
{
    if (vx_libc_dlsym()(RTLD_NEXT, l->probe))
        return RTLD_NEXT;
    struct search s = {.prefix = l->prefix};
    dl_iterate_phdr(note_library, &s);
    return s.path[0] ? dlopen(s.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

static bool fill(const struct library *l)
{
    void *handle = find_library(l);
    for (unsigned i = 0; i < l->count; i++) {
        void *f = handle ? vx_libc_dlsym()(handle, l->members[i].name) : NULL;
        f = f ? f : l->absent;
        memcpy((char *)l->table + l->members[i].offset, &f, sizeof f);
    }
    return handle != NULL;
}

const struct vx_cu_real *vx_cu_look(void)
{
    pthread_mutex_lock(&lock);
    if (!atomic_load(&vx_cu_found) && fill(&cuda))
        atomic_store(&vx_cu_found, &cu_table);
    pthread_mutex_unlock(&lock);
    return &cu_table;
}

const struct vx_nv_real *vx_nv_look(void)
{
    pthread_mutex_lock(&lock);
    if (!atomic_load(&vx_nv_found) && fill(&nvml))
        atomic_store(&vx_nv_found, &nv_table);
    pthread_mutex_unlock(&lock);
    return &nv_table;
}

enum vx_mode vx_cu_mode(void)
{
    return vx_session_mode();
}
