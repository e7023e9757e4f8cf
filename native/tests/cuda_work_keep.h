/* Of cuda_work.c: memory that is kept while the kernels run. */
#ifndef VXPU_TEST_CUDA_WORK_KEEP_H
#define VXPU_TEST_CUDA_WORK_KEEP_H

/* The second part a second later: when others have their first. */
static void keep(void)
{
    CUdeviceptr p;
    if (o.keep)
        DO(cuMemAlloc_v2(&p, o.keep));
    if (!o.spill)
        return;
    nap(1000000000);
    DO(cuMemAlloc_v2(&p, o.spill));
}

#endif
