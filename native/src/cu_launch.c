/* Class F: kernels, one by one. */
#include "cu_gate.h"
#include "cu_real.h"

/* The long way round; kept out of line so that the short one is short. */
#define LONG_WAY(stream, key, call)                      \
    do {                                                 \
        enum vx_turn turn;                               \
        CUresult err = vx_gate_enter(stream, key, &turn); \
        if (err != CUDA_SUCCESS)                         \
            return err;                                  \
        err = call;                                      \
        vx_gate_leave(stream, turn);                     \
        return err;                                      \
    } while (0)

static inline uint64_t key_of(CUfunction f, unsigned gx, unsigned gy,
                              unsigned gz, unsigned bx, unsigned by,
                              unsigned bz)
{
    return vx_cost_key(f, (uint64_t)gx * gy * gz, (uint64_t)bx * by * bz);
}

#define KERNEL_PARAMS                                                     \
    (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,    \
     unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params, \
     void **extra)
#define KERNEL_ARGS f, gx, gy, gz, bx, by, bz, shared, stream, params, extra

typedef CUresult (*kernel_fn) KERNEL_PARAMS;

static __attribute__((noinline)) CUresult
kernel_long(kernel_fn real, uint64_t key, CUstream s, CUfunction f,
            const unsigned dims[7], CUstream stream, void **params,
            void **extra)
{
    LONG_WAY(s, key, real(f, dims[0], dims[1], dims[2], dims[3], dims[4],
                          dims[5], dims[6], stream, params, extra));
}

#define LAUNCH_KERNEL(name, per_thread)                                     \
    CUresult name KERNEL_PARAMS                                             \
    {                                                                       \
        CUstream s = vx_stream(stream, per_thread);                         \
        uint64_t key = key_of(f, gx, gy, gz, bx, by, bz);                   \
        if (__builtin_expect(vx_gate_quick(s, key), 1))                     \
            return vx_cu()->name(KERNEL_ARGS);                              \
        const unsigned dims[7] = {gx, gy, gz, bx, by, bz, shared};          \
        return kernel_long(vx_cu()->name, key, s, f, dims, stream, params, extra); \
    }
LAUNCH_KERNEL(cuLaunchKernel, false)
LAUNCH_KERNEL(cuLaunchKernel_ptsz, true)

typedef CUresult (*ex_fn)(const CUlaunchConfig *, CUfunction, void **, void **);

static CUresult launch_ex(ex_fn real, bool per_thread, const CUlaunchConfig *c,
                          CUfunction f, void **params, void **extra)
{
    if (!c)
        return real(c, f, params, extra);
    CUstream s = vx_stream(c->hStream, per_thread);
    uint64_t key = key_of(f, c->gridDimX, c->gridDimY, c->gridDimZ,
                          c->blockDimX, c->blockDimY, c->blockDimZ);
    if (__builtin_expect(vx_gate_quick(s, key), 1))
        return real(c, f, params, extra);
    LONG_WAY(s, key, real(c, f, params, extra));
}

#define LAUNCH_EX(name, per_thread)                                      \
    CUresult name(const CUlaunchConfig *c, CUfunction f, void **params,  \
                  void **extra)                                          \
    {                                                                    \
        return launch_ex(vx_cu()->name, per_thread, c, f, params, extra); \
    }
LAUNCH_EX(cuLaunchKernelEx, false)
LAUNCH_EX(cuLaunchKernelEx_ptsz, true)

#define LAUNCH_COOPERATIVE(name, per_thread)                                 \
    CUresult name(CUfunction f, unsigned gx, unsigned gy, unsigned gz,       \
                  unsigned bx, unsigned by, unsigned bz, unsigned shared,    \
                  CUstream stream, void **params)                            \
    {                                                                        \
        CUstream s = vx_stream(stream, per_thread);                          \
        uint64_t key = key_of(f, gx, gy, gz, bx, by, bz);                    \
        LONG_WAY(s, key, vx_cu()->name(f, gx, gy, gz, bx, by, bz, shared,    \
                                       stream, params));                     \
    }
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, false)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, true)

/*
 * Old and removed from new drivers. It runs on several cards: the current
 * one's gate holds it, and each card is charged in the stream of its own.
 */
CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *list,
                                              unsigned count, unsigned flags)
{
    if (!list || count == 0)
        return vx_cu()->cuLaunchCooperativeKernelMultiDevice(list, count, flags);
    const CUDA_LAUNCH_PARAMS *p = list;
    uint64_t key = key_of(p->function, p->gridDimX, p->gridDimY, p->gridDimZ,
                          p->blockDimX, p->blockDimY, p->blockDimZ);
    LONG_WAY(vx_stream(p->hStream, false), key,
             vx_cu()->cuLaunchCooperativeKernelMultiDevice(list, count, flags));
}

/* The launches from before CUDA 4: the block's shape is the function's. */
CUresult cuLaunch(CUfunction f)
{
    LONG_WAY(CU_STREAM_LEGACY, vx_cost_key(f, 1, 1), vx_cu()->cuLaunch(f));
}

CUresult cuLaunchGrid(CUfunction f, int width, int height)
{
    uint64_t blocks = (uint64_t)(unsigned)width * (unsigned)height;
    LONG_WAY(CU_STREAM_LEGACY, vx_cost_key(f, blocks, 1),
             vx_cu()->cuLaunchGrid(f, width, height));
}

CUresult cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream)
{
    uint64_t blocks = (uint64_t)(unsigned)width * (unsigned)height;
    LONG_WAY(vx_stream(stream, false), vx_cost_key(f, blocks, 1),
             vx_cu()->cuLaunchGridAsync(f, width, height, stream));
}
