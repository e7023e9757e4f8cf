/* Finding the real CUDA driver and NVML in this process. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cu_real.h"
#include "cu_table.h"
#include "library.h"

const struct vx_cu_real *_Atomic vx_cu_found;
const struct vx_nv_real *_Atomic vx_nv_found;

CUresult vx_cu_absent(void)
{
    return CUDA_ERROR_NOT_FOUND;
}

nvmlReturn_t vx_nv_absent(void)
{
    return NVML_ERROR_FUNCTION_NOT_FOUND;
}

#define VX_CU(class, name, params) .name = (CUresult(*) params)(void *)vx_cu_absent,
#define VX_CU_USE(name, params) .name = (CUresult(*) params)(void *)vx_cu_absent,
static const struct vx_cu_real no_cu = {
#include "hooks.def"
};
#define VX_NV(class, name, params) .name = (nvmlReturn_t(*) params)(void *)vx_nv_absent,
#define VX_NV_USE(name, params) .name = (nvmlReturn_t(*) params)(void *)vx_nv_absent,
static const struct vx_nv_real no_nv = {
#include "hooks.def"
};

/* Real pointer -> wrapper: open addressing, written once. */
enum { MAP_SIZE = 2048 };
struct identity {
    const void *real;
    void *wrapper;
};

/* One library, found: its calls, then by which addresses they are known. */
struct driver {
    union {
        struct vx_cu_real cu;
        struct vx_nv_real nv;
    };
    struct identity map[MAP_SIZE];
    const void *self; /* code of the library itself */
    const void *next; /* code of an interposer behind us, or NULL */
};

struct library {
    const char *file;  /* how its file name begins */
    const char *probe; /* a call that every version has */
    const char *mark;  /* one that no interposer has a reason to define */
    const struct vx_cu_entry *entries;
    const unsigned *count;
    const void *absent; /* the table of stubs */
    size_t size;        /* of that table */
};

static const struct library cuda = {
    "libcuda.so", "cuInit", "cuDriverGetVersion", vx_cu_entries, &vx_cu_entry_count,
    &no_cu, sizeof no_cu};
static const struct library nvml = {
    "libnvidia-ml.so", "nvmlShutdown", "nvmlSystemGetNVMLVersion", vx_nv_entries, &vx_nv_entry_count,
    &no_nv, sizeof no_nv};

static struct driver *_Atomic cu_driver;
static struct driver *_Atomic nv_driver;

static unsigned place_of(const void *p)
{
    return (unsigned)(((uintptr_t)p >> 4) * 0x9E3779B1u) % MAP_SIZE;
}

static void learn(struct driver *d, const void *real, void *wrapper)
{
    if (!real || !wrapper || real == wrapper)
        return;
    unsigned i = place_of(real);
    while (d->map[i].real && d->map[i].real != real)
        i = (i + 1) % MAP_SIZE;
    if (!d->map[i].real) /* two names of one function: either will do */
        d->map[i] = (struct identity){real, wrapper};
}

static void *find_wrapper(const struct driver *d, const void *real)
{
    if (!d || !real)
        return NULL;
    for (unsigned i = place_of(real); d->map[i].real; i = (i + 1) % MAP_SIZE)
        if (d->map[i].real == real)
            return d->map[i].wrapper;
    return NULL;
}

/* The shim stands in the driver's place and tells where the driver is. */
static void *behind_shim(void *handle)
{
    void *(*real)(void);
    void *p = vx_libc_dlsym()(handle, "vxpu_shim_real");
    memcpy(&real, &p, sizeof real);
    return p ? real() : handle;
}

/*
 * What a wrapper calls is the next definition after ours, so that another
 * interposer keeps its turn; look-ups end at the driver's own function.
 */
static void add_call(struct driver *d, const struct vx_cu_entry *e, void *found,
                     void *own)
{
    vx_dlsym_fn look = vx_libc_dlsym();
    void *driver = look(own, e->name);
    void *shim = found == own ? driver : look(found, e->name);
    void *next = look(RTLD_NEXT, e->name);
    if (next && next != shim && next != driver)
        d->next = next;
    else
        next = driver;
    if (next)
        memcpy((char *)d + e->offset, &next, sizeof next);
    learn(d, driver, e->wrapper);
    learn(d, shim, e->wrapper);
    learn(d, next, e->wrapper);
}

static void *find_library(const struct library *l)
{
    void *handle = vx_library_loaded(l->file);
    if (handle)
        return handle;
    /* Under another name, but linked. */
    void *probe = vx_libc_dlsym()(RTLD_NEXT, l->probe);
    return probe ? vx_library_of(probe) : NULL;
}

/* NULL where there is no library (or no memory). */
static struct driver *make_driver(const struct library *l, void *found)
{
    void *own = found ? behind_shim(found) : NULL;
    struct driver *d = own ? calloc(1, sizeof *d) : NULL;
    if (!d)
        return NULL;
    memcpy(d, l->absent, l->size);
    d->self = vx_libc_dlsym()(own, l->probe);
    for (unsigned i = 0; i < *l->count; i++)
        add_call(d, &l->entries[i], found, own);
    return d;
}

/*
 * No lock: a thread inside dlopen holds the loader's and may come here. The
 * first to publish wins.
 */
static struct driver *publish(struct driver *_Atomic *slot, struct driver *made)
{
    struct driver *d = NULL;
    if (!made || atomic_compare_exchange_strong(slot, &d, made))
        return made;
    free(made);
    return d;
}

static struct driver *look_for(const struct library *l,
                               struct driver *_Atomic *slot)
{
    struct driver *d = atomic_load_explicit(slot, memory_order_acquire);
    return d ? d : publish(slot, make_driver(l, find_library(l)));
}

static bool is_library(const struct library *l, const void *code)
{
    void *handle = vx_library_of(code);
    void *mark = handle ? vx_libc_dlsym()(handle, l->mark) : NULL;
    bool same = mark && vx_library_same(mark, code);
    if (handle)
        dlclose(handle);
    return same;
}

bool vx_cu_is_driver(const void *code)
{
    return is_library(&cuda, code) || is_library(&nvml, code);
}

void vx_cu_look_at(const void *code)
{
    if (!atomic_load(&cu_driver) && is_library(&cuda, code))
        publish(&cu_driver, make_driver(&cuda, vx_library_of(code)));
    else if (!atomic_load(&nv_driver) && is_library(&nvml, code))
        publish(&nv_driver, make_driver(&nvml, vx_library_of(code)));
}

#ifdef VX_TESTING
/* A simulated card may run on a clock of its own. */
static void take_clock(const struct driver *d)
{
    void *own = vx_library_of(d->self);
    void *now = own ? vx_libc_dlsym()(own, "vxfake_now_ns") : NULL;
    void *nap = own ? vx_libc_dlsym()(own, "vxfake_sleep_ns") : NULL;
    if (!now || !nap)
        return;
    memcpy(&vx_clock_now, &now, sizeof now);
    memcpy(&vx_clock_sleep, &nap, sizeof nap);
}
#else
#define take_clock(d) ((void)0)
#endif

const struct vx_cu_real *vx_cu_look(void)
{
    struct driver *d = look_for(&cuda, &cu_driver);
    if (!d)
        return &no_cu;
    if (!atomic_load(&vx_cu_found))
        take_clock(d);
    atomic_store(&vx_cu_found, &d->cu);
    return &d->cu;
}

const struct vx_nv_real *vx_nv_look(void)
{
    struct driver *d = look_for(&nvml, &nv_driver);
    if (!d)
        return &no_nv;
    atomic_store(&vx_nv_found, &d->nv);
    return &d->nv;
}

void *vx_cu_wrapper_at(const void *real)
{
    void *w = find_wrapper(atomic_load(&cu_driver), real);
    return w ? w : find_wrapper(atomic_load(&nv_driver), real);
}

static bool is_behind(const struct driver *d, const void *code)
{
    return d && (vx_library_same(code, d->self) ||
                 (d->next && vx_library_same(code, d->next)));
}

bool vx_cu_behind_us(const void *code)
{
    return is_behind(atomic_load(&cu_driver), code) ||
           is_behind(atomic_load(&nv_driver), code);
}

enum vx_mode vx_cu_mode(void)
{
    return vx_session_mode();
}
