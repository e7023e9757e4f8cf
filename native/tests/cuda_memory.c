/*
 * A program that uses a card as it is told, a line of stdin at a time:
 * "alloc a 600m" answers the driver's code. It knows nothing of the limiter.
 */
#include "cuda_things.h"

#include <sys/wait.h>
#include <unistd.h>

#include "cuda_memory_more.h"

/* Outputs start with this, to see that a refused call leaves them alone. */
static const uint64_t UNTOUCHED = 0x5a5a5a5a5a5a5a5aULL;

static CUresult do_init(void)
{
    return cuInit(0);
}

static CUresult do_context(void)
{
    CUcontext ctx = NULL;
    CUresult err = cuDevicePrimaryCtxRetain(&ctx, (int)number(word[1]));
    return err ? err : cuCtxSetCurrent(ctx);
}

static CUresult do_release(void)
{
    return cuDevicePrimaryCtxRelease_v2((int)number(word[1]));
}

static CUresult do_reset(void)
{
    return cuDevicePrimaryCtxReset_v2((int)number(word[1]));
}

static CUresult do_create(void)
{
    CUcontext ctx = NULL;
    CUresult err = cuCtxCreate_v2(&ctx, 0, (int)number(word[2]));
    return keep(err, word[1], (uintptr_t)ctx, 0);
}

static CUresult do_destroy(void)
{
    return cuCtxDestroy_v2(handle(word[1]));
}

static CUresult do_current(void)
{
    return cuCtxSetCurrent(handle(word[1]));
}

static CUresult do_alloc(void)
{
    CUdeviceptr at = UNTOUCHED;
    CUresult err = cuMemAlloc_v2(&at, number(word[2]));
    if (err && at != UNTOUCHED)
        exit(8);
    return keep(err, word[1], at, number(word[2]));
}

static CUresult do_old_alloc(void)
{
    CUdeviceptr_v1 at = 0;
    CUresult err = cuMemAlloc(&at, (unsigned)number(word[2]));
    return keep(err, word[1], at, 0);
}

static CUresult do_pitch(void)
{
    CUdeviceptr at = UNTOUCHED;
    size_t pitch = UNTOUCHED;
    CUresult err = cuMemAllocPitch_v2(&at, &pitch, number(word[2]),
                                      number(word[3]), 4);
    if (err && (at != UNTOUCHED || pitch != UNTOUCHED))
        exit(8);
    return keep(err, word[1], at, pitch);
}

static CUresult do_managed(void)
{
    CUdeviceptr at = UNTOUCHED;
    CUresult err = cuMemAllocManaged(&at, number(word[2]), 1);
    return keep(err, word[1], at, number(word[2]));
}

static CUresult do_free(void)
{
    return cuMemFree_v2(thing(word[1])->value);
}

static CUresult do_raw_free(void)
{
    return cuMemFree_v2(number(word[1]));
}

static CUresult do_stream(void)
{
    CUstream stream = NULL;
    CUresult err = cuStreamCreate(&stream, 1);
    return keep(err, word[1], (uintptr_t)stream, 0);
}

static CUresult do_sync(void)
{
    return cuCtxSynchronize();
}

static CUresult do_async(void)
{
    CUdeviceptr at = UNTOUCHED;
    CUresult err = cuMemAllocAsync(&at, number(word[2]), handle(word[3]));
    if (err && at != UNTOUCHED)
        exit(8);
    return keep(err, word[1], at, number(word[2]));
}

static CUresult do_from(void)
{
    CUdeviceptr at = UNTOUCHED;
    CUresult err = cuMemAllocFromPoolAsync(&at, number(word[2]),
                                           handle(word[3]), handle(word[4]));
    return keep(err, word[1], at, number(word[2]));
}

static CUresult do_free_async(void)
{
    return cuMemFreeAsync(thing(word[1])->value, handle(word[2]));
}

static CUresult do_pool(void)
{
    CUmemoryPool pool = NULL;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED};
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = (int)number(word[2]);
    if (word[3] && strcmp(word[3], "shared") == 0)
        props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (word[3] && strcmp(word[3], "host") == 0)
        props.location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST_NUMA};
    CUresult err = cuMemPoolCreate(&pool, &props);
    return keep(err, word[1], (uintptr_t)pool, 0);
}

static CUresult do_default_pool(void)
{
    CUmemoryPool pool = NULL;
    CUresult err = cuDeviceGetDefaultMemPool(&pool, (int)number(word[2]));
    return keep(err, word[1], (uintptr_t)pool, 0);
}

static CUresult do_threshold(void)
{
    cuuint64_t value = number(word[2]);
    return cuMemPoolSetAttribute(handle(word[1]),
                                 CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value);
}

static CUresult do_trim(void)
{
    return cuMemPoolTrimTo(handle(word[1]), number(word[2]));
}

static CUresult do_pool_destroy(void)
{
    return cuMemPoolDestroy(handle(word[1]));
}

static CUresult do_array(void)
{
    CUarray array = NULL;
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = number(word[2]),
                                 .Height = number(word[3]),
                                 .Depth = number(word[4]),
                                 .Format = CU_AD_FORMAT_FLOAT,
                                 .NumChannels = 4};
    CUresult err = cuArray3DCreate_v2(&array, &d);
    return keep(err, word[1], (uintptr_t)array, 0);
}

static CUresult do_mipmap(void)
{
    CUmipmappedArray array = NULL;
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = number(word[2]),
                                 .Height = number(word[3]),
                                 .Format = CU_AD_FORMAT_FLOAT,
                                 .NumChannels = 4};
    CUresult err = cuMipmappedArrayCreate(&array, &d,
                                          (unsigned)number(word[4]));
    return keep(err, word[1], (uintptr_t)array, 0);
}

static CUresult do_array_destroy(void)
{
    return cuArrayDestroy(handle(word[1]));
}

static CUresult do_mipmap_destroy(void)
{
    return cuMipmappedArrayDestroy(handle(word[1]));
}

static CUresult do_host(void)
{
    void *at = NULL;
    CUresult err = cuMemHostAlloc(&at, number(word[2]), 0);
    return keep(err, word[1], (uintptr_t)at, number(word[2]));
}

static CUresult do_host_free(void)
{
    return cuMemFreeHost(handle(word[1]));
}

static CUresult do_register(void)
{
    void *at = aligned_alloc(4096, number(word[2]));
    CUresult err = cuMemHostRegister_v2(at, number(word[2]), 0);
    return keep(err, word[1], (uintptr_t)at, number(word[2]));
}

static CUresult do_unregister(void)
{
    return cuMemHostUnregister(handle(word[1]));
}

static CUresult do_limit(void)
{
    return cuCtxSetLimit((CUlimit)number(word[1]), number(word[2]));
}

/* "info", "info free", "info total", "info none": which pointers are given */
static CUresult do_info(void)
{
    size_t free = 0, total = 0;
    bool with_free = !word[1] || strcmp(word[1], "free") == 0;
    bool with_total = !word[1] || strcmp(word[1], "total") == 0;
    CUresult err = cuMemGetInfo_v2(with_free ? &free : NULL,
                                   with_total ? &total : NULL);
    printf("%zu %zu ", free, total);
    return err;
}

static CUresult do_total(void)
{
    size_t total = 0;
    CUresult err = cuDeviceTotalMem_v2(&total, (int)number(word[1]));
    printf("%zu ", total);
    return err;
}

/* The rest of the script runs in a child first; the parent then goes on. */
static CUresult do_fork(void)
{
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid > 0)
        waitpid(pid, &status, 0);
    return pid > 0 ? (CUresult)status : CUDA_SUCCESS;
}

static CUresult do_exit(void)
{
    fflush(stdout);
    _exit(0);
}

static const struct command {
    const char *name;
    CUresult (*run)(void);
} commands[] = {
    {"init", do_init}, {"context", do_context}, {"release", do_release}, {"reset", do_reset},
    {"create", do_create}, {"destroy", do_destroy}, {"current", do_current},
    {"alloc", do_alloc}, {"old-alloc", do_old_alloc}, {"pitch", do_pitch},
    {"managed", do_managed}, {"free", do_free}, {"raw-free", do_raw_free},
    {"stream", do_stream}, {"sync", do_sync}, {"async", do_async},
    {"from", do_from}, {"free-async", do_free_async}, {"pool", do_pool},
    {"default-pool", do_default_pool}, {"threshold", do_threshold},
    {"trim", do_trim}, {"pool-destroy", do_pool_destroy}, {"array", do_array},
    {"mipmap", do_mipmap}, {"array-destroy", do_array_destroy},
    {"mipmap-destroy", do_mipmap_destroy}, {"host", do_host},
    {"host-free", do_host_free}, {"register", do_register},
    {"unregister", do_unregister}, {"limit", do_limit}, {"info", do_info},
    {"total", do_total}, {"fork", do_fork}, {"exit", do_exit},
    MORE_COMMANDS};

static CUresult obey(char *line)
{
    int count = 0;
    memset(word, 0, sizeof word);
    for (char *w = strtok(line, " \n"); w && count < WORDS;
         w = strtok(NULL, " \n"))
        word[count++] = w;
    for (size_t i = 0; word[0] && i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, word[0]) == 0)
            return commands[i].run();
    return (CUresult)-1;
}

int main(void)
{
    char line[512];
    CUresult err = cuInit(0);
    printf("%d\n", (int)err);
    fflush(stdout);
    setvbuf(stdin, NULL, _IONBF, 0); /* a fork's child reads on */
    while (fgets(line, sizeof line, stdin)) {
        err = obey(line);
        printf("%d\n", (int)err);
        fflush(stdout);
    }
    return 0;
}
