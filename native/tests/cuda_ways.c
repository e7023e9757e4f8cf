/*
 * Ways in which a program comes to the driver.
 *   cuda_ways linked MIB...    built with -DVX_LINKED: the driver is needed
 *   cuda_ways local|global|deepbind|dlmopen PLUGIN MIB...
 *   cuda_ways none             what a program sees where there is no driver
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int (*plugin_main)(int, char **);

#ifdef VX_LINKED
int vx_plugin_main(int argc, char **argv);
#endif

static void *open_plugin(const char *how, const char *path)
{
    if (strcmp(how, "dlmopen") == 0)
        return dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
    if (strcmp(how, "deepbind") == 0)
        return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    return dlopen(path, RTLD_NOW | (strcmp(how, "global") == 0 ? RTLD_GLOBAL
                                                               : RTLD_LOCAL));
}

/* A name that is in no library at all must look the same as the driver's. */
static int look_around(void)
{
    void *init = dlsym(RTLD_DEFAULT, "cuInit");
    const char *why = dlerror();
    void *nvml = dlsym(RTLD_DEFAULT, "nvmlDeviceGetMemoryInfo");
    printf("cuInit=%d nvml=%d said=%d", init != NULL, nvml != NULL, why != NULL);
    void *self = dlopen(NULL, RTLD_NOW);
    printf(" self=%d", dlsym(self, "cuMemAlloc_v2") != NULL);
    printf(" loaded=%d\n", dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != NULL);
    return 0;
}

int main(int argc, char **argv)
{
#ifdef VX_LINKED
    if (argc > 1 && strcmp(argv[1], "linked") == 0)
        return vx_plugin_main(argc - 2, argv + 2);
#endif
    if (argc < 3)
        return look_around();
    void *plugin = open_plugin(argv[1], argv[2]);
    void *f = plugin ? dlsym(plugin, "vx_plugin_main") : NULL;
    if (!f) {
        printf("%s\n", dlerror());
        return 1;
    }
    plugin_main run;
    memcpy(&run, &f, sizeof run);
    int r = run(argc - 3, argv + 3);
    /* A namespace of dlmopen has a stdio of its own that nobody flushes. */
    void *flush = dlsym(plugin, "fflush");
    if (flush)
        ((int (*)(FILE *))flush)(NULL);
    return r;
}
