/*
 * A CUDA program of the tests: launches in one of many patterns.
 *   cuda_work PATTERN [name=value ...]
 * Times are of the card's clock (virtual on a simulated one). Prints
 * "name=value" words.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda_launch_ways.h"

static struct {
    uint64_t ns, ms, count, threads, streams, sigma_permille, grid, block, seed;
    uint64_t sync, bytes, gap_us, kernels, way, keep, spill;
} o = {.ns = 200000, .ms = 1000, .count = 100, .threads = 1, .streams = 1,
       .grid = 1000, .block = 256, .seed = 1, .bytes = 1 << 20, .kernels = 100};

static void set_option(const char *word)
{
    static const struct {
        const char *name;
        uint64_t *value;
    } all[] = {{"ns", &o.ns}, {"ms", &o.ms}, {"count", &o.count},
               {"threads", &o.threads}, {"streams", &o.streams},
               {"sigma", &o.sigma_permille}, {"grid", &o.grid},
               {"block", &o.block}, {"seed", &o.seed}, {"sync", &o.sync},
               {"bytes", &o.bytes}, {"gap_us", &o.gap_us},
               {"kernels", &o.kernels}, {"way", &o.way},
               {"keep", &o.keep}, {"spill", &o.spill}};
    const char *at = strchr(word, '=');
    for (size_t i = 0; at && i < sizeof all / sizeof *all; i++)
        if (strlen(all[i].name) == (size_t)(at - word) &&
            strncmp(word, all[i].name, (size_t)(at - word)) == 0) {
            *all[i].value = strtoull(at + 1, NULL, 0);
            return;
        }
    fprintf(stderr, "unknown: %s\n", word);
    exit(2);
}

static CUcontext context;
static CUfunction spin;
static _Atomic uint64_t launches, longest_ns, init_ns;
/* Launches by the time they took: 2^(i/4) ns each. */
static _Atomic uint64_t took_about[256];

static uint64_t real_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static uint64_t now_ns(void) { return cu.now ? cu.now() : real_ns(); }

static void nap(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000U), (long)(ns % 1000000000U)};
    if (cu.nap)
        cu.nap(ns);
    else
        nanosleep(&t, NULL);
}

static void start(void)
{
    CUdevice device;
    CUmodule module;
    vx_test_open_driver();
    if (cu.nap)
        cu.nap(1); /* from here on the card's time waits for us */
    uint64_t began = real_ns();
    DO(cuInit(0));
    init_ns = real_ns() - began;
    DO(cuDeviceGet(&device, 0));
    DO(cuDevicePrimaryCtxRetain(&context, device));
    DO(cuCtxSetCurrent(context));
    DO(cuModuleLoadData(&module, vx_test_kernels));
    DO(cuModuleGetFunction(&spin, module, "vx_spin"));
}

/* ns of one kernel: as asked, or lognormal with that mean. */
static uint64_t draw(unsigned *seed)
{
    if (o.sigma_permille == 0)
        return o.ns;
    double sigma = (double)o.sigma_permille / 1000;
    double u = (rand_r(seed) + 1.0) / ((double)RAND_MAX + 2);
    double v = (rand_r(seed) + 1.0) / ((double)RAND_MAX + 2);
    double z = sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
    return (uint64_t)((double)o.ns * exp(sigma * z - sigma * sigma / 2)) + 1;
}

static void note_time(uint64_t took)
{
    unsigned bits = took ? 63 - (unsigned)__builtin_clzll(took) : 0;
    unsigned quarter = bits >= 2 ? (unsigned)(took >> (bits - 2)) & 3 : 0;
    atomic_fetch_add(&took_about[4 * bits + quarter], 1);
    for (uint64_t seen = longest_ns; seen < took;)
        if (atomic_compare_exchange_weak(&longest_ns, &seen, took))
            break;
}

/* Upper end of the class that the 99th of a hundred launches is in. */
static uint64_t p99_ns(void)
{
    uint64_t left = launches / 100;
    for (unsigned i = 255; i > 0; i--) {
        if (took_about[i] > left)
            return i < 8 ? 1ULL << (i / 4 + 1)
                         : (5ULL + i % 4) << (i / 4 - 2);
        left -= took_about[i];
    }
    return 0;
}

static CUresult launch(CUstream stream, uint64_t ns)
{
    uint64_t began = now_ns();
    CUresult err = vx_test_launch(o.way, spin, (unsigned)o.grid,
                                  (unsigned)o.block, stream, &ns);
    note_time(now_ns() - began);
    atomic_fetch_add(&launches, 1);
    return err;
}

static void *steady_thread(void *unused)
{
    CUstream streams[16] = {0};
    unsigned seed = (unsigned)o.seed + (unsigned)(uintptr_t)unused;
    DO(cuCtxSetCurrent(context));
    for (uint64_t i = 0; o.streams > 1 && i < o.streams; i++)
        DO(cuStreamCreate(&streams[i], 1));
    uint64_t end = now_ns() + o.ms * 1000000;
    for (uint64_t i = 0; now_ns() < end; i++) {
        CUstream s = streams[i % o.streams];
        vx_test_check(launch(s, draw(&seed)), "launch", __LINE__);
        if (o.sync)
            DO(cuStreamSynchronize(s));
        if (o.gap_us)
            nap(o.gap_us * 1000);
    }
    return NULL;
}

#include "cuda_work_ends.h"
#include "cuda_work_keep.h"

static void steady(void)
{
    pthread_t threads[64];
    keep();
    uint64_t began = now_ns();
    for (uint64_t i = 1; i < o.threads; i++)
        pthread_create(&threads[i], NULL, steady_thread, (void *)(uintptr_t)i);
    steady_thread(NULL);
    for (uint64_t i = 1; i < o.threads; i++)
        pthread_join(threads[i], NULL);
    DO(cuCtxSynchronize());
    printf("wall_ns=%llu ", (unsigned long long)(now_ns() - began));
}

static CUgraph capture(CUstream s, uint64_t ns)
{
    CUgraph graph;
    DO(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (uint64_t i = 0; i < o.kernels; i++)
        vx_test_check(launch(s, ns), "captured", __LINE__);
    DO(cuStreamEndCapture(s, &graph));
    return graph;
}

/* A graph launched for some time; how long its capture took. */
static void graph(void)
{
    CUstream s;
    CUgraphExec exec;
    DO(cuStreamCreate(&s, 1));
    uint64_t began = now_ns();
    CUgraph g = capture(s, o.ns);
    printf("capture_ns=%llu captured=%llu ",
           (unsigned long long)(now_ns() - began), (unsigned long long)launches);
    launches = longest_ns = 0;
    DO(cuGraphInstantiateWithFlags(&exec, g, 0));
    began = now_ns();
    uint64_t end = began + o.ms * 1000000;
    while (now_ns() < end) {
        DO(cuGraphLaunch(exec, s));
        launches += o.kernels;
        if (o.sync)
            DO(cuStreamSynchronize(s));
    }
    DO(cuCtxSynchronize());
    printf("wall_ns=%llu ", (unsigned long long)(now_ns() - began));
}

/* One kernel, a blocking read, and out without a word. */
static void brief(void)
{
    CUdeviceptr p;
    char byte;
    DO(cuMemAlloc_v2(&p, 1));
    launch(NULL, o.ns);
    DO(cuMemcpyDtoH_v2(&byte, p, 1));
    _exit(0);
}

/* Work behind a value that the host writes later: must not be waited for. */
static void value(void)
{
    CUstream s;
    CUdeviceptr at;
    uint32_t *word;
    DO(cuStreamCreate(&s, 1));
    DO(cuMemHostAlloc((void **)&word, 4096, 2));
    DO(cuMemHostGetDevicePointer_v2(&at, word, 0));
    *word = 0;
    DO(cuStreamWaitValue32_v2(s, at, 1, 0));
    uint64_t began = now_ns();
    for (uint64_t i = 0; i < o.count; i++)
        vx_test_check(launch(s, o.ns), "behind", __LINE__);
    uint64_t held = now_ns() - began;
    *(volatile uint32_t *)word = 1;
    DO(cuStreamSynchronize(s));
    printf("held_ns=%llu ", (unsigned long long)held);
}

static _Atomic bool flag;

static void wait_for_flag(void *unused)
{
    (void)unused;
    while (!flag)
        nap(1000000);
}

/* The same behind a host function that waits for the program. */
static void host(void)
{
    CUstream s;
    DO(cuStreamCreate(&s, 1));
    launch(s, o.ns);
    DO(cuLaunchHostFunc(s, wait_for_flag, NULL));
    for (uint64_t i = 0; i < o.count; i++)
        vx_test_check(launch(s, o.ns), "behind", __LINE__);
    flag = true;
    DO(cuStreamSynchronize(s));
}

static void launch_from_callback(void *result)
{
    *(CUresult *)result = launch(NULL, o.ns);
}

/* A driver's own thread that launches: whatever it answers, no wait. */
static void callback(void)
{
    CUresult answer = CUDA_ERROR_UNKNOWN;
    for (uint64_t i = 0; i < o.count; i++) {
        DO(cuLaunchHostFunc(NULL, launch_from_callback, &answer));
        DO(cuCtxSynchronize());
    }
    printf("answer=%d ", (int)answer);
}

static void copies(void)
{
    CUdeviceptr p;
    void *from = calloc(1, o.bytes);
    uint64_t done = 0, began = now_ns(), end = began + o.ms * 1000000;
    DO(cuMemAlloc_v2(&p, o.bytes));
    while (now_ns() < end) {
        if (o.sync)
            DO(cuMemcpyHtoD_v2(p, from, o.bytes));
        else
            DO(cuMemcpyHtoDAsync_v2(p, from, o.bytes, NULL));
        done += o.bytes;
    }
    DO(cuCtxSynchronize());
    printf("bytes=%llu wall_ns=%llu ", (unsigned long long)done,
           (unsigned long long)(now_ns() - began));
}

static void fills(void)
{
    CUdeviceptr p;
    uint64_t end = now_ns() + o.ms * 1000000;
    DO(cuMemAlloc_v2(&p, o.bytes));
    while (now_ns() < end) {
        DO(cuMemsetD8Async(p, 0, o.bytes, NULL));
        launches++;
    }
    DO(cuCtxSynchronize());
}

/* Shapes never measured before, each twice at once. */
static void unknown(void)
{
    uint64_t began = now_ns();
    for (uint64_t i = 0; i < o.count; i++) {
        o.grid = 1ULL << i % 24;
        o.block = 1ULL << i / 24 % 10;
        vx_test_check(launch(NULL, o.ns), "first", __LINE__);
        vx_test_check(launch(NULL, o.ns), "second", __LINE__);
    }
    uint64_t took = now_ns() - began;
    DO(cuCtxSynchronize());
    printf("took_ns=%llu all_ns=%llu ", (unsigned long long)took,
           (unsigned long long)(now_ns() - began));
}

/* A child of a program that has a context: it starts afresh by exec. */
static void forks(void)
{
    launch(NULL, o.ns);
    pid_t child = fork();
    if (child == 0)
        _exit(launch(NULL, o.ns) == CUDA_SUCCESS);
    int status;
    waitpid(child, &status, 0);
    DO(cuCtxSynchronize());
    printf("child=%d ", status);
}

/* One thread, two cards, the default stream of each in turn. */
static void two_cards(void)
{
    CUcontext contexts[2] = {context};
    CUfunction spins[2] = {spin};
    CUdevice second;
    CUmodule module;
    DO(cuDeviceGet(&second, 1));
    DO(cuDevicePrimaryCtxRetain(&contexts[1], second));
    DO(cuCtxSetCurrent(contexts[1]));
    DO(cuModuleLoadData(&module, vx_test_kernels));
    DO(cuModuleGetFunction(&spins[1], module, "vx_spin"));
    uint64_t end = now_ns() + o.ms * 1000000;
    for (uint64_t i = 0; now_ns() < end; i++) {
        DO(cuCtxSetCurrent(contexts[i % 2]));
        spin = spins[i % 2];
        /* The second card gets kernels of half the length. */
        vx_test_check(launch(NULL, o.ns >> i % 2), "launch", __LINE__);
    }
    for (int i = 0; i < 2; i++) {
        DO(cuCtxSetCurrent(contexts[i]));
        DO(cuCtxSynchronize());
    }
}

/* How long the first call took, with all that the limiter does in it. */
static void begin(void)
{
    printf("init_ns=%llu ", (unsigned long long)init_ns);
    launch(NULL, o.ns);
    DO(cuCtxSynchronize());
}

/* One launch; what it answers. */
static void once(void)
{
    printf("answer=%d ", (int)launch(NULL, o.ns));
    DO(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } patterns[] = {{"steady", steady}, {"graph", graph}, {"brief", brief},
                    {"value", value}, {"host", host}, {"callback", callback},
                    {"copies", copies}, {"fills", fills}, {"once", once},
                    {"unknown", unknown}, {"ends", ends}, {"fork", forks},
                    {"start", begin}, {"cards", two_cards}};
    for (int i = 2; i < argc; i++)
        set_option(argv[i]);
    start();
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        if (argc < 2 || strcmp(argv[1], patterns[i].name) != 0)
            continue;
        patterns[i].run();
        printf("launches=%llu longest_ns=%llu p99_ns=%llu\n",
               (unsigned long long)launches, (unsigned long long)longest_ns,
               (unsigned long long)p99_ns());
        return 0;
    }
    return 2;
}
