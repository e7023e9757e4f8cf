/*
 * Preload mode's hold on look-ups by handle, and the last measurement.
 */
#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cl_launch.h"
#include "cu_gate.h"
#include "cu_real.h"
#include "library.h"

VX_EXPORT void *dlsym(void *restrict handle, const char *restrict name);
VX_EXPORT void *dlvsym(void *restrict handle, const char *restrict name,
                       const char *restrict version);
VX_EXPORT void _exit(int status);
VX_EXPORT void _Exit(int status);

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* Not "close", "clock", "curl_easy_init". */
static bool is_opencl(const char *name)
{
    return name[0] == 'c' && name[1] == 'l' && is_upper(name[2]);
}

static bool is_cuda(const char *name)
{
    return (name[0] == 'c' && name[1] == 'u' && is_upper(name[2])) ||
           (name[0] == 'n' && strncmp(name, "nvml", 4) == 0);
}

/*
 * True when a look-up is ours to answer. RTLD_NEXT never is: it asks for what
 * comes after the caller, who may be the one that we call.
 */
static bool is_ours(void *handle, const char *name, const void *caller)
{
    if (!name || handle == RTLD_NEXT)
        return false;
    if (is_opencl(name))
        /* A loader looks into its drivers: those answers are never ours. */
        return vx_wrapper_of(name) && !vx_library_is(caller, "libOpenCL");
    return is_cuda(name) && vx_cu_name(name) != VX_NAME_OTHER &&
           !vx_cu_behind_us(caller);
}

/* version: NULL for a plain dlsym. */
static void *ask(void *handle, const char *name, const char *version)
{
    return version ? vx_libc_dlvsym()(handle, name, version)
                   : vx_libc_dlsym()(handle, name);
}

/* Our own export was found, but nothing behind it: as if it were not there. */
static void *not_there(const char *name)
{
    vx_libc_dlsym()(RTLD_NEXT, name); /* for what dlerror() tells */
    return NULL;
}

static void *look_up_opencl(void *handle, const char *name, const char *version)
{
    void *wrapper = vx_wrapper_of(name);
    void *p = ask(handle, name, version);
    if (p == wrapper && !vx_real_found())
        return not_there(name);
    return p ? wrapper : NULL;
}

static bool is_loaded(const char *name)
{
    if (name[0] == 'c')
        vx_cu();
    else
        vx_nv();
    return name[0] == 'c' ? atomic_load(&vx_cu_found) != NULL
                          : atomic_load(&vx_nv_found) != NULL;
}

static void *look_up_cuda(void *handle, const char *name, const char *version)
{
    void *p = ask(handle, name, version);
    if (!p)
        return NULL;
    if (p == vx_cu_wrapper_of(name))
        return is_loaded(name) ? p : not_there(name);
    if (!is_loaded(name))
        vx_cu_look_at(p); /* a driver under another file name */
    void *wrapper = vx_cu_wrapper_at(p);
    if (wrapper)
        return vx_cu_mode() == VX_PASS ? p : wrapper;
    /* Somebody's own function of that name, or a driver's that we lack? */
    return !vx_cu_is_driver(p) || vx_cu_admit_variant(name) ? p : NULL;
}

static void *look_up(void *handle, const char *name, const char *version)
{
    return is_opencl(name) ? look_up_opencl(handle, name, version)
                           : look_up_cuda(handle, name, version);
}

/*
 * Everything that is not ours is a tail call, so that libc sees the caller's
 * own return address and RTLD_NEXT keeps its meaning.
 */
void *dlsym(void *restrict handle, const char *restrict name)
{
    if (is_ours(handle, name, __builtin_return_address(0)))
        return look_up(handle, name, NULL);
    return vx_libc_dlsym()(handle, name);
}

void *dlvsym(void *restrict handle, const char *restrict name,
             const char *restrict version)
{
    if (is_ours(handle, name, __builtin_return_address(0)))
        return look_up(handle, name, version);
    return vx_libc_dlvsym()(handle, name, version);
}

/* The process ends without running destructors: measure what it leaves. */
void _exit(int status)
{
    vx_cl_launch_last_words();
    vx_gate_last_words();
    for (;;)
        syscall(SYS_exit_group, status);
}

void _Exit(int status)
{
    _exit(status);
}

static __attribute__((destructor)) void leave(void)
{
    vx_cl_launch_last_words();
    vx_gate_last_words();
}
