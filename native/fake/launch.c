/* Kernel launches: what one costs, what it does, and every way to ask. */
#include <string.h>

#include "capture.h"
#include "module.h"

enum { MAX_THREADS = 1024, MAX_DYNAMIC_SHARED = 232448 };

CUresult vf_launch_check(const struct vf_launch *launch)
{
    const unsigned *g = launch->grid, *b = launch->block;
    if (!vf_function(launch->function))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!g[0] || !g[1] || !g[2] || !b[0] || !b[1] || !b[2])
        return CUDA_ERROR_INVALID_VALUE;
    if (b[0] > MAX_THREADS || b[1] > MAX_THREADS || b[2] > 64 ||
        (uint64_t)b[0] * b[1] * b[2] > MAX_THREADS || g[0] > 0x7fffffffU ||
        g[1] > 65535 || g[2] > 65535 ||
        launch->shared_bytes > MAX_DYNAMIC_SHARED)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* The packed parameters of `extra`; NULL when it is no such list. */
static const unsigned char *packed(void **extra, size_t *size)
{
    const unsigned char *buffer = NULL;
    *size = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            *size = *(size_t *)extra[1];
        else
            return NULL;
    }
    return buffer;
}

bool vf_kernel_args(const struct vf_launch *launch,
                    struct vf_kernel_args *args)
{
    static const uint8_t BYTES[3] = {8, 4, 8}, AT[3] = {0, 8, 16};
    struct CUfunction_st *f = vf_function(launch->function);
    int count = f->kind == VF_FUNCTION_FILL   ? 3
                : f->kind == VF_FUNCTION_SPIN ? 1 : 0;
    size_t size;
    memset(args, 0, sizeof *args);
    if (count == 0)
        return true;
    const unsigned char *buffer =
        launch->extra ? packed(launch->extra, &size) : NULL;
    for (int i = 0; i < count; i++) {
        if (launch->params && launch->params[i])
            memcpy(&args->word[i], launch->params[i], BYTES[i]);
        else if (buffer && (size_t)AT[i] + BYTES[i] <= size)
            memcpy(&args->word[i], buffer + AT[i], BYTES[i]);
        else
            return false;
    }
    return true;
}

static void fill(void *arg)
{
    const struct vf_kernel_args *args = arg;
    uint32_t *to = (uint32_t *)(uintptr_t)args->word[0];
    for (uint64_t i = 0; i < args->word[2]; i++)
        to[i] = (uint32_t)args->word[1];
}

void vf_kernel_command(const struct vf_card *card,
                       const struct CUfunction_st *f,
                       struct vf_kernel_args *args, struct vf_command *command)
{
    *command = (struct vf_command){.kind = VF_KERNEL};
    if (f->kind == VF_FUNCTION_SPIN) {
        command->duration_ns = args->word[0];
    } else if (f->kind == VF_FUNCTION_FILL) {
        uint64_t rate = vf_knob(card, fill_bytes_per_second);
        double ns = 4e9 * (double)args->word[2] / (double)(rate ? rate : 1);
        command->duration_ns = (uint64_t)ns;
        command->effect = fill;
        command->arg = args;
        command->copy_arg = sizeof *args;
    } else {
        command->duration_ns = f->fixed_ns ? f->fixed_ns
                                           : vf_knob(card, kernel_ns);
    }
}

static CUresult launch_in(struct CUstream_st *stream,
                          const struct vf_launch *launch)
{
    struct vf_kernel_args args;
    struct vf_work work = {.timed = NULL};
    CUresult r;
    if (vf_captures(stream)) {
        CUgraphNodeParams node = {
            .type = CU_GRAPH_NODE_TYPE_KERNEL,
            .kernel = {launch->function, launch->grid[0], launch->grid[1],
                       launch->grid[2], launch->block[0], launch->block[1],
                       launch->block[2], launch->shared_bytes, launch->params,
                       launch->extra, NULL, NULL}};
        vf_capture_node(stream, &node, &r);
        return r;
    }
    struct CUfunction_st *f = vf_function(launch->function);
    if (!vf_kernel_args(launch, &args))
        return CUDA_ERROR_INVALID_VALUE;
    vf_kernel_command(stream->lane->card, f, &args, &work.command);
    if (f->kind == VF_FUNCTION_FILL &&
        !vf_is_device_range(args.word[0], args.word[2] * 4))
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    return vf_submit(stream, &work, NULL);
}

static CUresult launch_kernel(const char *call, enum vf_twin twin,
                              CUstream handle, const struct vf_launch *launch)
{
    struct CUstream_st *stream;
    CUresult r = vf_stream_enter(call, handle, twin, &stream);
    if (!r)
        r = vf_launch_check(launch);
    return r ? r : launch_in(stream, launch);
}

#define DIMS unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, \
             unsigned bz, unsigned shared
#define LAUNCH(name, twin)                                               \
    VF_EXPORT CUresult name(CUfunction f, DIMS, CUstream stream,         \
                            void **params, void **extra)                 \
    {                                                                    \
        struct vf_launch l = {f, {gx, gy, gz}, {bx, by, bz}, shared,     \
                              params, extra};                            \
        return launch_kernel("cuLaunchKernel", twin, stream, &l);        \
    }
LAUNCH(cuLaunchKernel, VF_LEGACY)
LAUNCH(cuLaunchKernel_ptsz, VF_PER_THREAD)

#define COOPERATIVE(name, twin)                                          \
    VF_EXPORT CUresult name(CUfunction f, DIMS, CUstream stream,         \
                            void **params)                               \
    {                                                                    \
        struct vf_launch l = {f, {gx, gy, gz}, {bx, by, bz}, shared,     \
                              params, NULL};                             \
        return launch_kernel("cuLaunchCooperativeKernel", twin, stream,  \
                             &l);                                        \
    }
COOPERATIVE(cuLaunchCooperativeKernel, VF_LEGACY)
COOPERATIVE(cuLaunchCooperativeKernel_ptsz, VF_PER_THREAD)

static CUresult launch_ex(enum vf_twin twin, const CUlaunchConfig *c,
                          CUfunction f, void **params, void **extra)
{
    if (!c || (c->numAttrs && !c->attrs))
        return CUDA_ERROR_INVALID_VALUE;
    struct vf_launch l = {
        f, {c->gridDimX, c->gridDimY, c->gridDimZ},
        {c->blockDimX, c->blockDimY, c->blockDimZ}, c->sharedMemBytes, params,
        extra};
    return launch_kernel("cuLaunchKernelEx", twin, c->hStream, &l);
}

VF_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f,
                                    void **params, void **extra)
{
    return launch_ex(VF_LEGACY, config, f, params, extra);
}

VF_EXPORT CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config,
                                         CUfunction f, void **params,
                                         void **extra)
{
    return launch_ex(VF_PER_THREAD, config, f, params, extra);
}

VF_EXPORT CUresult cuLaunchCooperativeKernelMultiDevice(
    CUDA_LAUNCH_PARAMS *list, unsigned count, unsigned flags)
{
    if (!list || count == 0 || flags > 3)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        CUDA_LAUNCH_PARAMS *p = &list[i];
        struct vf_launch l = {
            p->function, {p->gridDimX, p->gridDimY, p->gridDimZ},
            {p->blockDimX, p->blockDimY, p->blockDimZ}, p->sharedMemBytes,
            p->kernelParams, NULL};
        if ((uintptr_t)p->hStream <= 2) /* each has a stream of its own */
            return CUDA_ERROR_INVALID_VALUE;
        CUresult r = launch_kernel("cuLaunchCooperativeKernelMultiDevice",
                                   VF_LEGACY, p->hStream, &l);
        if (r)
            return r;
    }
    return CUDA_SUCCESS;
}

/* ---- the calls from before CUDA 4 ------------------------------------------- */

static CUresult launch_grid(const char *call, CUfunction handle, int width,
                            int height, CUstream stream)
{
    struct CUfunction_st *f = vf_function(handle);
    if (!f)
        return CUDA_ERROR_INVALID_HANDLE;
    if (width <= 0 || height <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    size_t size = f->params_size;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, f->params,
                     CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    struct vf_launch l = {
        handle, {(unsigned)width, (unsigned)height, 1},
        {(unsigned)f->block[0], (unsigned)f->block[1], (unsigned)f->block[2]},
        f->shared_bytes, NULL, extra};
    return launch_kernel(call, VF_LEGACY, stream, &l);
}

VF_EXPORT CUresult cuLaunch(CUfunction f)
{
    return launch_grid("cuLaunch", f, 1, 1, NULL);
}

VF_EXPORT CUresult cuLaunchGrid(CUfunction f, int width, int height)
{
    return launch_grid("cuLaunchGrid", f, width, height, NULL);
}

VF_EXPORT CUresult cuLaunchGridAsync(CUfunction f, int width, int height,
                                     CUstream stream)
{
    return launch_grid("cuLaunchGridAsync", f, width, height, stream);
}
