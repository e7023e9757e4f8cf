/*
 * Preload mode's hold on look-ups by handle, and the last measurement.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cl_launch.h"
#include "log.h"
#include "real.h"

VX_EXPORT void *dlsym(void *restrict handle, const char *restrict name);
VX_EXPORT void _exit(int status);
VX_EXPORT void _Exit(int status);

/* An OpenCL loader looks into its drivers: those answers are never ours. */
static bool caller_is_loader(const void *address)
{
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname)
        return false;
    const char *base = strrchr(info.dli_fname, '/');
    return strncmp(base ? base + 1 : info.dli_fname, "libOpenCL", 9) == 0;
}

/* True when a look-up of a name that we wrap is ours to answer. */
static bool is_ours(void *handle, const char *name, const void *caller)
{
    return name && vx_wrapper_of(name) && handle != RTLD_NEXT &&
           !caller_is_loader(caller);
}

/* What was found by identity, not by name: no OpenCL, no wrapper. */
static void *look_up_hooked(void *handle, const char *name)
{
    void *wrapper = vx_wrapper_of(name);
    void *p = vx_libc_dlsym()(handle, name);
    if (p == wrapper && !vx_real_found()) {
        vx_libc_dlsym()(RTLD_NEXT, name); /* for what dlerror() tells */
        return NULL;
    }
    return p ? wrapper : NULL;
}

/*
 * Everything that is not ours is a tail call, so that libc sees the caller's
 * own return address and RTLD_NEXT keeps its meaning.
 */
void *dlsym(void *restrict handle, const char *restrict name)
{
    if (is_ours(handle, name, __builtin_return_address(0)))
        return look_up_hooked(handle, name);
    return vx_libc_dlsym()(handle, name);
}

/* The process ends without running destructors: measure what it leaves. */
void _exit(int status)
{
    vx_cl_launch_last_words();
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
}
