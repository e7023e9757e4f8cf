/*
 * Asks for the driver's calls in one way and says, a line each, what came
 * back: the driver's codes, and which function of which library it is.
 *   cuda_lookup v1|v2|ptsz   reads "name version flags", by cuGetProcAddress
 *   cuda_lookup dlsym|default|dlvsym [LIBRARY]   reads names
 *   cuda_lookup race         the first look-ups of many threads at once
 *   cuda_lookup arguments    calls what takes many, twice
 *   cuda_lookup bench        nanoseconds of each kind of look-up, best of many
 * "-" is the empty name, "NULL" no name.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vxpu/cuda_abi.h"

static int untouched;

static void tell(void *p)
{
    Dl_info info;
    if (p == &untouched)
        printf(" untouched\n");
    else if (!p)
        printf(" null\n");
    else if (!dladdr(p, &info) || info.dli_saddr != p)
        printf(" elsewhere\n");
    else
        printf(" %s %s\n", strrchr(info.dli_fname, '/') + 1, info.dli_sname);
}

typedef CUresult (*old_query)(const char *, void **, int, cuuint64_t);
typedef CUresult (*query)(const char *, void **, int, cuuint64_t,
                          CUdriverProcAddressQueryResult *);

static void ask(const char *how, void *entry, const char *name, int version,
                unsigned long flags)
{
    void *p = &untouched;
    CUdriverProcAddressQueryResult status = 77;
    CUresult r;
    if (strcmp(name, "-") == 0)
        name = "";
    else if (strcmp(name, "NULL") == 0)
        name = NULL;
    if (strcmp(how, "v1") == 0)
        r = ((old_query)entry)(name, &p, version, flags);
    else
        r = ((query)entry)(name, &p, version, flags, &status);
    printf("%d %d", r, status);
    tell(p);
}

static void find(const char *how, void *driver, const char *name)
{
    if (strcmp(how, "dlvsym") == 0)
        tell(dlvsym(driver, name, "VERSION_OF_TESTS"));
    else
        tell(dlsym(strcmp(how, "default") == 0 ? RTLD_DEFAULT : driver, name));
}

enum { RACERS = 16 };
static pthread_barrier_t start;

static void *race(void *driver)
{
    void *by_address = NULL;
    CUdriverProcAddressQueryResult status;
    pthread_barrier_wait(&start);
    query q = (query)dlsym(driver, "cuGetProcAddress_v2");
    q("cuMemAlloc", &by_address, 13000, 0, &status);
    return by_address == dlsym(driver, "cuMemAlloc_v2") ? by_address : NULL;
}

static void run_race(void *driver)
{
    pthread_t thread[RACERS];
    pthread_barrier_init(&start, NULL, RACERS);
    for (int i = 0; i < RACERS; i++)
        pthread_create(&thread[i], NULL, race, driver);
    for (int i = 0; i < RACERS; i++) {
        void *answer;
        pthread_join(thread[i], &answer);
        tell(answer);
    }
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* One line: what it is, and its best of 200 rounds of 100. */
#define PRICE(what, call)                                      \
    do {                                                       \
        double best = 1;                                       \
        for (int i_ = 0; i_ < 200; i_++) {                     \
            double from = seconds();                           \
            for (int j_ = 0; j_ < 100; j_++)                   \
                (void)(call);                                  \
            double took = (seconds() - from) / 100;            \
            best = took < best ? took : best;                  \
        }                                                      \
        printf("%s=%.1f\n", what, best * 1e9);                 \
    } while (0)

static void run_bench(void *driver)
{
    void *p;
    int version;
    CUdriverProcAddressQueryResult status;
    query q = (query)dlsym(driver, "cuGetProcAddress_v2");
    CUresult (*plain)(int *) = (CUresult(*)(int *))dlsym(driver, "cuDriverGetVersion");
    PRICE("dlsym_other", dlsym(RTLD_DEFAULT, "malloc"));
    PRICE("dlsym_unhooked", dlsym(driver, "cuDriverGetVersion"));
    PRICE("dlsym_hooked", dlsym(driver, "cuMemAlloc_v2"));
    PRICE("proc_unhooked", q("cuDriverGetVersion", &p, 13000, 0, &status));
    PRICE("proc_hooked", q("cuMemAlloc", &p, 13000, 0, &status));
    PRICE("call_unhooked", plain(&version));
}

static void run_arguments(void *driver)
{
    CUresult (*many)(long, unsigned, unsigned, long, long, long, long, long,
                     unsigned, unsigned, unsigned, unsigned);
    CUresult (*floats)(long, float, float);
    void *m = dlsym(driver, "cuTensorMapEncodeTiled");
    void *f = dlsym(driver, "cuTexRefSetMipmapLevelClamp");
    memcpy(&many, &m, sizeof many);
    memcpy(&floats, &f, sizeof floats);
    for (int i = 0; i < 2; i++)
        printf("%d %d\n", many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
               floats(1, 1.5f, 2.5f));
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "v2";
    /* Where another library is asked for, the driver may be absent. */
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver && argc < 3)
        fprintf(stderr, "%s\n", dlerror());
    const char *entry = strcmp(how, "v1") == 0   ? "cuGetProcAddress"
                        : strcmp(how, "v2") == 0 ? "cuGetProcAddress_v2"
                                                 : "cuGetProcAddress_v2_ptsz";
    void *asked = driver ? dlsym(driver, entry) : NULL;
    if (argc > 2)
        driver = dlopen(argv[2], RTLD_NOW);
    if (strcmp(how, "race") == 0)
        run_race(driver);
    if (strcmp(how, "arguments") == 0 && driver)
        run_arguments(driver);
    if (strcmp(how, "bench") == 0 && driver)
        run_bench(driver);
    char name[256];
    int version;
    unsigned long flags;
    if (how[0] == 'd')
        while (scanf("%255s", name) == 1)
            find(how, driver, name);
    else
        while (asked && scanf("%255s %d %lu", name, &version, &flags) == 3)
            ask(how, asked, name, version, flags);
    return 0;
}
