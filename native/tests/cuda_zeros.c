/*
 * Calls driver functions with nothing but zeros, each in a child of its own:
 * what a careless program may do. Reads names; a line each: its code, or the
 * signal that ended it.
 *   cuda_zeros bare      the driver was not started
 *   cuda_zeros started   cuInit and a current context
 *   cuda_zeros absent    by our exports, whether there is a driver or not
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int (*call)(long, long, long, long, long, long, long, long, long, long,
                    long, long);

static call find(void *driver, const char *name)
{
    void *p = dlsym(driver, name);
    call f;
    memcpy(&f, &p, sizeof f);
    return f;
}

static void begin(void *driver)
{
    void *context;
    if (find(driver, "cuInit")(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) ||
        find(driver, "cuDevicePrimaryCtxRetain")((long)&context, 0, 0, 0, 0, 0,
                                                 0, 0, 0, 0, 0, 0) ||
        find(driver, "cuCtxSetCurrent")((long)context, 0, 0, 0, 0, 0, 0, 0, 0,
                                        0, 0, 0))
        _exit(99);
}

static void try_one(void *driver, const char *how, const char *name)
{
    int status, pipes[2];
    if (pipe(pipes))
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        if (strcmp(how, "started") == 0)
            begin(driver);
        call f = find(driver, name);
        int code = f ? f(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) : -1;
        _exit(write(pipes[1], &code, sizeof code) == sizeof code ? 0 : 98);
    }
    int code = -2;
    close(pipes[1]);
    ssize_t got = read(pipes[0], &code, sizeof code);
    close(pipes[0]);
    waitpid(child, &status, 0);
    printf("%s code=%d signal=%d\n", name, got > 0 ? code : -2,
           WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "bare";
    void *driver = strcmp(how, "absent") == 0
                       ? dlopen(getenv("VX_TEST_LIBRARY"), RTLD_NOW)
                       : dlopen("libcuda.so.1", RTLD_NOW);
    char name[256];
    while (driver && scanf("%255s", name) == 1)
        try_one(driver, how, name);
    return driver ? 0 : 1;
}
