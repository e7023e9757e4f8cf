/* Of cuda_work.c: each kernel's context ends behind it, in one of three ways. */
#ifndef VXPU_TEST_CUDA_WORK_ENDS_H
#define VXPU_TEST_CUDA_WORK_ENDS_H

enum { END_DESTROY, END_RESET, END_RELEASE };

static void begin_again(CUcontext *c)
{
    CUmodule module;
    if (o.way == END_DESTROY)
        vx_test_check(BY_NAME("cuCtxCreate_v2", (CUcontext *, unsigned, CUdevice), c, 0, 0),
                      "create", __LINE__);
    else
        DO(cuDevicePrimaryCtxRetain(c, 0));
    DO(cuCtxSetCurrent(*c));
    DO(cuModuleLoadData(&module, vx_test_kernels));
    DO(cuModuleGetFunction(&spin, module, "vx_spin"));
}

static void ends(void)
{
    uint64_t end = now_ns() + o.ms * 1000000;
    while (now_ns() < end) {
        CUcontext c;
        uint64_t ns = o.ns;
        begin_again(&c);
        vx_test_check(vx_test_launch(WAY_KERNEL, spin, 1, 1, NULL, &ns), "launch", __LINE__);
        launches++;
        if (o.way == END_DESTROY)
            BY_NAME("cuCtxDestroy_v2", (CUcontext), c);
        else if (o.way == END_RESET)
            BY_NAME("cuDevicePrimaryCtxReset_v2", (CUdevice), 0);
        else
            DO(cuDevicePrimaryCtxRelease_v2(0));
    }
}

#endif
