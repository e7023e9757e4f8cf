#include "log.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int log_level(void)
{
    static _Atomic int cached = -1;
    int level = atomic_load(&cached);
    if (level < 0) {
        const char *text = getenv("VXPU_LOG");
        level = text ? atoi(text) : 0;
        level = level < 0 ? 0 : level;
        atomic_store(&cached, level);
    }
    return level;
}

void vx_log(int level, const char *format, ...)
{
    if (level > log_level())
        return;
    int saved = errno;
    char line[512];
    int head = snprintf(line, sizeof line, "vxpu[%d]: ", (int)getpid());
    va_list args;
    va_start(args, format);
    int body = vsnprintf(line + head, sizeof line - (size_t)head - 1, format, args);
    va_end(args);
    size_t size = strlen(line);
    line[size++] = '\n';
    /* One write a line, so that lines of several processes do not mix. */
    if (body >= 0 && write(STDERR_FILENO, line, size) < 0)
        errno = saved;
    errno = saved;
}

#ifdef VX_TESTING
void vx_crash_point(const char *name)
{
    const char *wanted = getenv("VXPU_CRASH_AT");
    if (wanted && strcmp(wanted, name) == 0)
        kill(getpid(), SIGKILL);
}
#endif
