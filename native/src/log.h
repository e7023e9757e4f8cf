#ifndef VXPU_LOG_H
#define VXPU_LOG_H

/* Writes one line to stderr when VXPU_LOG >= level; keeps errno. */
void vx_log(int level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Named points where the testing build can die by SIGKILL (VXPU_CRASH_AT).
 * The list is in docs/native.md; the product build has none of this.
 */
#ifdef VX_TESTING
void vx_crash_point(const char *name);
#define VX_CRASH(name) vx_crash_point(name)
#else
#define VX_CRASH(name) ((void)0)
#endif

#endif
