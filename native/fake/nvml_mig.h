/* Handles of MIG: what they point to, and the checks before each use. */
#ifndef VXPU_FAKE_NVML_MIG_H
#define VXPU_FAKE_NVML_MIG_H

#include "mig.h"
#include "nvml_lib.h"

struct nvmlGpuInstance_st {
    int card, instance;
};

struct nvmlComputeInstance_st {
    int card, instance, compute;
};

nvmlGpuInstance_t nv_gpu_instance(int card, int instance);
/* A live instance of a card in MIG mode, with `out` given. */
nvmlReturn_t nv_part(const char *call, nvmlGpuInstance_t handle,
                     const void *out, struct vf_card **card,
                     struct vf_gpu_instance **instance);

#endif
