#include "real.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "library.h"

struct entry {
    const char *name;
    int index;
    size_t offset;
    void *wrapper; /* NULL: used, not wrapped */
    bool returns_pointer;
};

#define POINTER_LIKE(type) \
    _Generic((type *)0, cl_int *: 0, void *: 0, default: 1)

/* Function addresses as data: POSIX has them convertible, C has not. */
#define VX_HOOK(ret, name, index, params) \
    {#name, index, offsetof(struct vx_real, name), (void *)(uintptr_t)name, \
     POINTER_LIKE(ret)},
#define VX_USE(ret, name, index, params) \
    {#name, index, offsetof(struct vx_real, name), NULL, POINTER_LIKE(ret)},
static const struct entry entries[] = {
#include "hooks.def"
};

enum { ENTRIES = sizeof entries / sizeof entries[0] };

static struct vx_real table;
static _Atomic bool found; /* by a real OpenCL, not by our stubs */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static cl_int no_such_call(void)
{
    return CL_INVALID_OPERATION;
}

static void *no_such_object(void)
{
    return NULL;
}

static void set_member(const struct entry *e, void *function)
{
    if (!function && e->returns_pointer)
        function = (void *)(uintptr_t)no_such_object;
    if (!function)
        function = (void *)(uintptr_t)no_such_call;
    memcpy((char *)&table + e->offset, &function, sizeof function);
}

/* A handle on the OpenCL loader in this process, or RTLD_NEXT, or NULL. */
static void *find_loader(void)
{
    if (vx_libc_dlsym()(RTLD_NEXT, "clGetPlatformIDs"))
        return RTLD_NEXT;
    /* Loaded privately (a Python extension): not in the global scope. */
    return vx_library_loaded("libOpenCL");
}

static bool fill_from_loader(void)
{
    void *loader = find_loader();
    if (!loader)
        return false;
    for (unsigned i = 0; i < ENTRIES; i++)
        set_member(&entries[i], vx_libc_dlsym()(loader, entries[i].name));
    return true;
}

static void make_ready(void)
{
    pthread_mutex_lock(&lock);
    if (!atomic_load(&found)) {
        bool got = fill_from_loader();
        for (unsigned i = 0; !got && i < ENTRIES; i++)
            set_member(&entries[i], NULL);
        atomic_store(&found, got);
    }
    pthread_mutex_unlock(&lock);
}

bool vx_real_found(void)
{
    if (!atomic_load(&found))
        make_ready();
    return atomic_load(&found);
}

const struct vx_real *vx_real(void)
{
    if (!atomic_load_explicit(&found, memory_order_acquire))
        make_ready();
    return &table;
}

void *vx_wrapper_of(const char *name)
{
    if (name[0] != 'c' || name[1] != 'l')
        return NULL;
    for (unsigned i = 0; i < ENTRIES; i++)
        if (strcmp(entries[i].name, name) == 0)
            return entries[i].wrapper;
    return NULL;
}

static bool is_stub(const struct entry *e)
{
    void *now;
    memcpy(&now, (char *)&table + e->offset, sizeof now);
    return now == (void *)(uintptr_t)no_such_object ||
           now == (void *)(uintptr_t)no_such_call;
}

void vx_real_learn(const char *name, void *function)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < ENTRIES; i++)
        /* A loader's own table may already point at our exported wrapper. */
        if (strcmp(entries[i].name, name) == 0 && is_stub(&entries[i]) &&
            function != entries[i].wrapper)
            set_member(&entries[i], function);
    pthread_mutex_unlock(&lock);
}

void vx_real_from_table(void *const *from, unsigned count)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < ENTRIES; i++) {
        int at = entries[i].index;
        bool has = at >= 0 && (unsigned)at < count;
        set_member(&entries[i], has ? from[at] : NULL);
    }
    atomic_store(&found, true);
    pthread_mutex_unlock(&lock);
}

void vx_wrappers_into_table(void **to, unsigned count)
{
    for (unsigned i = 0; i < ENTRIES; i++) {
        int at = entries[i].index;
        if (entries[i].wrapper && at >= 0 && (unsigned)at < count)
            to[at] = entries[i].wrapper;
    }
}
