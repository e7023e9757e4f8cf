/* What the NVML wrappers share. */
#ifndef VXPU_NV_DEVICE_H
#define VXPU_NV_DEVICE_H

#include <stdbool.h>

#include "cu_real.h"

/* Region index of an NVML device; -1: not of the slice, so left as it is. */
int vx_nv_device(nvmlDevice_t device);
/* A living process of this slice, by the pid that NVML shows us. */
bool vx_nv_is_ours(unsigned int pid);

#endif
