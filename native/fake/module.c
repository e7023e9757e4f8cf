/* Modules: an image's functions and variables in a context. */
#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "capture.h"
#include "image.h"
#include "memory.h"
#include "module_parts.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUmodule_st *free_modules;
static struct CUfunction_st *free_functions;

static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    free_modules = NULL;
    free_functions = NULL;
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, after_fork); }

/* ---- functions -------------------------------------------------------------- */

/* What the name says a launch costs: spin_<n>us, spin_<n>ms. */
static void read_name(struct CUfunction_st *f)
{
    char *end;
    f->kind = VF_FUNCTION_FIXED;
    if (strcmp(f->name, "vx_spin") == 0)
        f->kind = VF_FUNCTION_SPIN;
    else if (strcmp(f->name, "vx_fill") == 0)
        f->kind = VF_FUNCTION_FILL;
    if (strncmp(f->name, "spin_", 5) != 0)
        return;
    uint64_t number = strtoull(f->name + 5, &end, 10);
    if (strcmp(end, "us") == 0)
        f->fixed_ns = number * 1000;
    else if (strcmp(end, "ms") == 0)
        f->fixed_ns = number * 1000000;
}

static struct CUfunction_st *new_function(CUmodule module, const char *name,
                                          size_t length)
{
    struct CUfunction_st *f = free_functions;
    if (f)
        free_functions = f->next;
    else
        f = malloc(sizeof *f);
    if (!f)
        return NULL;
    memset(f, 0, sizeof *f);
    if (length >= sizeof f->name)
        length = sizeof f->name - 1;
    memcpy(f->name, name, length);
    f->module = module;
    f->block[0] = f->block[1] = f->block[2] = 1;
    read_name(f);
    f->next = module->functions;
    module->functions = f;
    module->function_count++;
    f->magic = VF_FUNCTION_MAGIC;
    return f;
}

static bool add_entry(void *module, const char *name, size_t length)
{
    return new_function(module, name, length) != NULL;
}

CUresult vf_module_function(CUmodule module, const char *name, CUfunction *out)
{
    pthread_mutex_lock(&lock);
    struct CUfunction_st *f = module->functions;
    while (f && strcmp(f->name, name) != 0)
        f = f->next;
    if (!f && module->kind == VF_IMAGE_BINARY && name[0])
        f = new_function(module, name, strlen(name));
    pthread_mutex_unlock(&lock);
    *out = f;
    return f ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

struct CUfunction_st *vf_function(CUfunction handle)
{
    if (!handle)
        return NULL;
    if (handle->magic == VF_KERNEL_MAGIC)
        handle = ((struct CUkernel_st *)handle)->function;
    return handle->magic == VF_FUNCTION_MAGIC ? handle : NULL;
}

/* ---- variables ---------------------------------------------------------------- */

static bool add_global(void *arg, const char *name, size_t length,
                       uint64_t bytes)
{
    CUmodule module = arg;
    struct vf_global *g = calloc(1, sizeof *g);
    if (!g)
        return false;
    struct vf_range range = {.size = bytes, .kind = VF_RANGE_GLOBAL,
                             .context = module->context,
                             .device = module->device};
    snprintf(g->name, sizeof g->name, "%.*s", (int)length, name);
    vf_memory_lock();
    bool taken = vf_take_for(&range);
    range.mapped = vf_round_up(bytes, 4096);
    void *at = taken ? vf_map(range.mapped, 4096, PROT_READ | PROT_WRITE)
                     : NULL;
    range.base = (uintptr_t)at;
    if (at)
        vf_range_add(&range);
    else if (taken)
        vf_give_for(&range);
    vf_memory_unlock();
    g->at = range.base;
    g->bytes = bytes;
    g->next = module->globals;
    module->globals = g;
    module->out_of_memory = !at;
    return at != NULL;
}

static void drop_globals(CUmodule module)
{
    while (module->globals) {
        struct vf_global *g = module->globals;
        vf_memory_lock();
        struct vf_range *range = vf_range_from(g->at);
        if (range && range->kind == VF_RANGE_GLOBAL)
            vf_range_drop(range);
        vf_memory_unlock();
        module->globals = g->next;
        free(g);
    }
}

CUresult vf_module_global(CUmodule module, const char *name, CUdeviceptr *at,
                          size_t *bytes)
{
    struct vf_global *g = module->globals;
    while (g && strcmp(g->name, name) != 0)
        g = g->next;
    if (!g)
        return CUDA_ERROR_NOT_FOUND;
    if (at)
        *at = g->at;
    if (bytes)
        *bytes = g->bytes;
    return CUDA_SUCCESS;
}

/* ---- modules -------------------------------------------------------------------- */

CUresult vf_module_find(CUmodule module)
{
    return module && module->magic == VF_MODULE_MAGIC
               ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

void vf_module_drop(CUmodule module)
{
    drop_globals(module);
    pthread_mutex_lock(&lock);
    module->magic = 0;
    while (module->functions) {
        struct CUfunction_st *f = module->functions;
        module->functions = f->next;
        f->magic = 0;
        f->next = free_functions;
        free_functions = f;
    }
    module->next = free_modules;
    free_modules = module;
    pthread_mutex_unlock(&lock);
}

static CUmodule take_object(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lock);
    CUmodule module = free_modules;
    if (module)
        free_modules = module->next;
    pthread_mutex_unlock(&lock);
    if (!module)
        module = malloc(sizeof *module);
    if (module)
        memset(module, 0, sizeof *module);
    return module;
}

CUresult vf_module_load(CUcontext context, const void *image, CUmodule *out)
{
    enum vf_image kind = vf_image_kind(image);
    if (kind == VF_IMAGE_NONE)
        return image ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_INVALID_VALUE;
    CUmodule module = take_object();
    if (!module)
        return CUDA_ERROR_OUT_OF_MEMORY;
    module->kind = kind;
    module->context = context;
    module->device = context ? context->device : 0;
    module->magic = VF_MODULE_MAGIC;
    if (kind == VF_IMAGE_PTX) {
        pthread_mutex_lock(&lock);
        vf_image_entries(image, add_entry, module);
        pthread_mutex_unlock(&lock);
    }
    if (kind == VF_IMAGE_PTX && context)
        vf_image_globals(image, add_global, module);
    if (module->out_of_memory) {
        vf_module_drop(module);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = module;
    return CUDA_SUCCESS;
}

/* A whole file, with a zero behind it; NULL when it can't be read. */
char *vf_read_file(const char *path)
{
    FILE *file = fopen(path, "rbe");
    char *text = NULL;
    if (!file)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file);
        rewind(file);
        text = size < 0 ? NULL : calloc(1, (size_t)size + 4);
        if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
            free(text);
            text = NULL;
        }
    }
    fclose(file);
    return text;
}
