/* The part of a card that NVML owns (owner: nvml_*.c). */
#ifndef VXPU_FAKE_NVML_STATE_H
#define VXPU_FAKE_NVML_STATE_H

#include <stdatomic.h>
#include <stdint.h>

struct vf_nvml {
    _Atomic uint64_t reserved[512];
};

#endif
