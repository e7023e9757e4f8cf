/*
 * Threads that load and unload a plugin whose constructor looks up driver
 * calls (the loader's lock is held there), beside threads that look up too.
 *   cuda_storm PLUGIN ROUNDS     built with -DVX_PLUGIN it is the plugin
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int look(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int found = driver && dlsym(driver, "cuMemFree_v2") &&
                dlsym(RTLD_DEFAULT, "cuInit");
    if (driver)
        dlclose(driver);
    return found;
}

#ifdef VX_PLUGIN
__attribute__((constructor)) static void start(void)
{
    if (!look())
        abort();
}
#else
enum { THREADS = 8 };
static const char *plugin;
static int rounds;

static void *load(void *unused)
{
    for (int i = 0; i < rounds; i++) {
        void *p = dlopen(plugin, RTLD_NOW);
        if (!p)
            abort();
        dlclose(p);
    }
    return unused;
}

static void *ask(void *unused)
{
    for (int i = 0; i < rounds; i++)
        if (!look())
            abort();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    if (argc < 3)
        return 1;
    plugin = argv[1];
    rounds = atoi(argv[2]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, i % 2 ? load : ask, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    puts("done");
    return 0;
}
#endif
