/*
 * Not a guest: the hand of a test on a simulated card's clock. Each line on
 * stdin is a number of nanoseconds to sleep; each answer is the time then.
 * While the test thinks, virtual time stands still.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    char line[64];
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        return 3;
    void (*join)(void), (*nap)(uint64_t);
    uint64_t (*now)(void);
    *(void **)&join = dlsym(library, "vxfake_join");
    *(void **)&nap = dlsym(library, "vxfake_sleep_ns");
    *(void **)&now = dlsym(library, "vxfake_now_ns");
    if (!join || !nap || !now)
        return 4;
    join();
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%llu\n", (unsigned long long)now());
    while (fgets(line, sizeof line, stdin)) {
        nap(strtoull(line, NULL, 0));
        printf("%llu\n", (unsigned long long)now());
    }
    return 0;
}
