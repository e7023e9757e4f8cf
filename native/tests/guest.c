/*
 * An OpenCL guest that finds its calls by dlopen and dlsym.
 * Usage: guest <command>; the loader's path by GUEST_LIBOPENCL.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cl_abi.h"

#define CALL(ret, name, params)               \
    typedef ret(*name##_fn) params;           \
    static name##_fn name;

CALL(cl_int, clGetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *))
CALL(cl_int, clGetDeviceIDs, (cl_platform_id, cl_bitfield, cl_uint, cl_device_id *, cl_uint *))
CALL(cl_int, clGetDeviceInfo, (cl_device_id, cl_uint, size_t, void *, size_t *))
CALL(cl_context, clCreateContext, (const cl_props *, cl_uint, const cl_device_id *, void *, void *, cl_int *))
CALL(cl_context, clCreateContextFromType, (const cl_props *, cl_bitfield, void *, void *, cl_int *))
CALL(cl_command_queue, clCreateCommandQueue, (cl_context, cl_device_id, cl_bitfield, cl_int *))
CALL(cl_mem, clCreateBuffer, (cl_context, cl_bitfield, size_t, void *, cl_int *))
CALL(cl_int, clRetainMemObject, (cl_mem))
CALL(cl_int, clReleaseMemObject, (cl_mem))
CALL(void *, clSVMAlloc, (cl_context, cl_bitfield, size_t, cl_uint))
CALL(void, clSVMFree, (cl_context, void *))
CALL(void *, clCreateProgramWithSource, (cl_context, cl_uint, const char **, const size_t *, cl_int *))
CALL(cl_int, clBuildProgram, (void *, cl_uint, const cl_device_id *, const char *, void *, void *))
CALL(cl_kernel, clCreateKernel, (void *, const char *, cl_int *))
CALL(cl_int, clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *))
CALL(cl_int, clEnqueueNDRangeKernel, (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint, const cl_event *, cl_event *))
CALL(cl_int, clEnqueueReadBuffer, (cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *, cl_event *))
CALL(cl_int, clFinish, (cl_command_queue))
CALL(cl_event, clCreateUserEvent, (cl_context, cl_int *))
CALL(cl_int, clSetUserEventStatus, (cl_event, cl_int))
CALL(void *, clGetExtensionFunctionAddressForPlatform, (cl_platform_id, const char *))
CALL(cl_int, clSetEventCallback, (cl_event, cl_int, cl_event_notify, void *))

static cl_platform_id platform;
static cl_device_id device;
static cl_context ctx;
static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem cell;

#define FIND(name) name = (name##_fn)dlsym(lib, #name)

static void find_calls(void)
{
    void *lib = dlopen(getenv("GUEST_LIBOPENCL"), RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        exit(9);
    FIND(clGetPlatformIDs), FIND(clGetDeviceIDs), FIND(clGetDeviceInfo);
    FIND(clCreateContext), FIND(clCreateContextFromType);
    FIND(clCreateCommandQueue), FIND(clCreateBuffer), FIND(clRetainMemObject);
    FIND(clReleaseMemObject), FIND(clSVMAlloc), FIND(clSVMFree);
    FIND(clCreateProgramWithSource), FIND(clBuildProgram), FIND(clCreateKernel);
    FIND(clSetKernelArg), FIND(clEnqueueNDRangeKernel);
    FIND(clEnqueueReadBuffer), FIND(clFinish), FIND(clCreateUserEvent);
    FIND(clSetUserEventStatus), FIND(clGetExtensionFunctionAddressForPlatform);
    FIND(clSetEventCallback);
}

static void start(void)
{
    const char *source =
        "__kernel void spin(__global float *a, int n) {"
        "  float x = get_global_id(0);"
        "  for (int i = 0; i < n; i++) x = x * 1.0001f + 0.5f;"
        "  if (x == 3.0f) a[0] = x; }";
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != 0)
        exit(8);
    ctx = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(ctx, device, 0, NULL);
    void *program = clCreateProgramWithSource(ctx, 1, &source, NULL, NULL);
    clBuildProgram(program, 0, NULL, "", NULL, NULL);
    kernel = clCreateKernel(program, "spin", NULL);
    cell = clCreateBuffer(ctx, 1, 64, NULL, NULL);
    clSetKernelArg(kernel, 0, sizeof cell, &cell);
}

static cl_int spin(int n, cl_uint waits, const cl_event *list, cl_event *out)
{
    size_t global = 4096, local = 16;
    clSetKernelArg(kernel, 1, sizeof n, &n);
    return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local,
                                  waits, list, out);
}

/* One kernel, a blocking read, and gone without any clean-up. */
static void run_short(int n)
{
    float out;
    spin(n, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, cell, 1, 0, sizeof out, &out, 0, NULL, NULL);
    fflush(stdout);
    _exit(0);
}

/* Launch 1 depends on an event that is set after forty more. */
static void run_user_event(int n)
{
    cl_event gate = clCreateUserEvent(ctx, NULL);
    int bad = spin(n, 1, &gate, NULL) != CL_SUCCESS;
    for (int i = 0; i < 40; i++)
        bad += spin(n, 0, NULL, NULL) != CL_SUCCESS;
    clSetUserEventStatus(gate, CL_COMPLETE);
    bad += clFinish(queue) != CL_SUCCESS;
    printf("bad=%d then=%d\n", bad + (spin(n, 0, NULL, NULL) != CL_SUCCESS),
           clFinish(queue));
}

/* The same, but what holds the queue is a read that is not device work. */
static void run_held_read(int n)
{
    static float out;
    cl_event gate = clCreateUserEvent(ctx, NULL);
    clEnqueueReadBuffer(queue, cell, 0, 0, sizeof out, &out, 1, &gate, NULL);
    int bad = 0;
    for (int i = 0; i < 40; i++)
        bad += spin(n, 0, NULL, NULL) != CL_SUCCESS;
    clSetUserEventStatus(gate, CL_COMPLETE);
    printf("bad=%d then=%d\n", bad, clFinish(queue));
}

static volatile int chained;

static void launch_again(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    chained = spin(*(int *)data, 0, NULL, NULL) == CL_SUCCESS ? 1 : -1;
}

/* Work enqueued on the runtime's own thread must not be held there. */
static void run_callback(int n)
{
    cl_event done;
    spin(n, 0, NULL, &done);
    clSetEventCallback(done, CL_COMPLETE, launch_again, &n);
    for (int i = 0; i < 3000 && !chained; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    printf("%d %d\n", chained, clFinish(queue));
}

/* Every call with its optional results left out. */
static void run_null(int n)
{
    cl_uint count = 9;
    (void)n;
    printf("%d ", clGetPlatformIDs(0, NULL, &count));
    printf("%u %d ", count, clGetPlatformIDs(1, NULL, NULL));
    printf("%d ", clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count));
    printf("%d ", clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, 0, NULL, NULL));
    printf("%d ", clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, 4, &count, NULL));
    printf("%d ", clCreateBuffer(ctx, 1, (size_t)1 << 40, NULL, NULL) == NULL);
    printf("%d ", clCreateContextFromType(NULL, 4, NULL, NULL, NULL) == NULL);
    clSVMFree(ctx, NULL);
    printf("%d\n", clReleaseMemObject(cell));
}

/* The same call found by OpenCL's own look-up obeys the same cap. */
static void run_lookup(int n)
{
    (void)n;
    clCreateBuffer_fn create = (clCreateBuffer_fn)
        clGetExtensionFunctionAddressForPlatform(platform, "clCreateBuffer");
    if (!create)
        create = clCreateBuffer;
    printf("refused=%d unknown=%d unseen=%d\n",
           create(ctx, 1, 9 << 20, NULL, NULL) == NULL,
           clGetExtensionFunctionAddressForPlatform(platform, "clNoSuchCall") != NULL,
           clGetExtensionFunctionAddressForPlatform(platform, "clDeviceMemAllocINTEL") != NULL);
}

/* Everything that takes or gives memory, in a small slice, twice. */
static void run_cycle(int n)
{
    for (int turn = 0; turn < 2; turn++) {
        cl_mem held[64];
        int count = 0;
        void *svm = clSVMAlloc(ctx, 1, 1 << 20, 0);
        while (count < 64 && (held[count] = clCreateBuffer(ctx, 1, 1 << 20, NULL, NULL)))
            count++;
        for (int i = 0; i < 6; i++)
            spin(n, 0, NULL, NULL);
        clFinish(queue);
        while (count > 0)
            clReleaseMemObject(held[--count]);
        clSVMFree(ctx, svm);
    }
    printf("ok\n");
}

static cl_mem shared;

static void *retain_release(void *unused)
{
    (void)unused;
    for (int i = 0; i < 20000; i++) {
        clRetainMemObject(shared);
        clReleaseMemObject(shared);
    }
    clReleaseMemObject(shared);
    return NULL;
}

/* Four threads share one buffer; the last reference returns its bytes. */
static void run_threads(int n)
{
    pthread_t t[4];
    for (int turn = 0; turn < n; turn++) {
        shared = clCreateBuffer(ctx, 1, 1 << 20, NULL, NULL);
        for (int i = 0; i < 3; i++)
            clRetainMemObject(shared);
        for (int i = 0; i < 4; i++)
            pthread_create(&t[i], NULL, retain_release, NULL);
        for (int i = 0; i < 4; i++)
            pthread_join(t[i], NULL);
    }
    printf("ok\n");
}

/* Throughput of the smallest launches: ns each. */
static void run_empty(int n)
{
    struct timespec a, b;
    for (int i = 0; i < 200; i++)
        spin(0, 0, NULL, NULL);
    clFinish(queue);
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < n; i++)
        spin(0, 0, NULL, NULL);
    clFinish(queue);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("ns=%ld\n", ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec) / n);
}

static long clock_ms(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Launches for so many ms, synchronous when the loop count is negative. */
static void run_busy(int n)
{
    long ms = atol(getenv("GUEST_MS")), launches = 0;
    long wall = clock_ms(CLOCK_MONOTONIC);
    long cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    do {
        spin(abs(n), 0, NULL, NULL);
        if (n < 0)
            clFinish(queue);
        launches++;
    } while (clock_ms(CLOCK_MONOTONIC) - wall < ms);
    clFinish(queue);
    printf("launches=%ld cpu_ms=%ld wall_ms=%ld\n", launches,
           clock_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu,
           clock_ms(CLOCK_MONOTONIC) - wall);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(int);
    } commands[] = {{"short", run_short},       {"user-event", run_user_event},
                    {"held-read", run_held_read},
                    {"callback", run_callback}, {"null", run_null},
                    {"cycle", run_cycle},       {"threads", run_threads},
                    {"empty", run_empty},       {"lookup", run_lookup},       {"busy", run_busy}};
    find_calls();
    start();
    for (unsigned i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (argc > 1 && strcmp(argv[1], commands[i].name) == 0)
            commands[i].run(argc > 2 ? atoi(argv[2]) : 1000);
    return 0;
}
