/* Another interposer: its RTLD_NEXT must find libc's call, not itself. */
#include <dlfcn.h>
#include <unistd.h>

__attribute__((visibility("default"))) pid_t getppid(void)
{
    static int depth;
    if (depth++ > 4)
        return -1;
    pid_t (*next)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "getppid");
    pid_t answer = next ? next() : -2;
    depth--;
    return answer == -1 ? -1 : answer + 1000000;
}
