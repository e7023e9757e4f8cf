/* The MIG profiles of a simulated card, and who may be placed where. */
#ifndef VXPU_FAKE_MIG_H
#define VXPU_FAKE_MIG_H

#include "card.h"

struct vf_mig_profile {
    uint32_t number; /* NVML_GPU_INSTANCE_PROFILE_... */
    uint32_t id;
    uint32_t slices, memory_slices;
    uint32_t most;   /* instances of it on one card */
    uint32_t copy_engines;
};

/* NULL: the card has no such profile. */
const struct vf_mig_profile *vf_mig_by_number(uint32_t number);
const struct vf_mig_profile *vf_mig_by_id(uint32_t id);
/* Where one may begin: fills up to 8 starts, returns how many. */
int vf_mig_starts(const struct vf_mig_profile *profile, uint32_t starts[8]);
/* Index of the new instance, or -1: no room. `start` < 0: the first free. */
int vf_mig_create(struct vf_card *card, const struct vf_mig_profile *profile,
                  int start);
bool vf_mig_fits(const struct vf_card *card,
                 const struct vf_mig_profile *profile, uint32_t start);
/* How many more of that profile the card takes, each placed in turn. */
uint32_t vf_mig_remaining(const struct vf_card *card,
                          const struct vf_mig_profile *profile);
/* A process that lives on instance (compute < 0: any part of it). */
bool vf_mig_busy(struct vf_card *card, int instance, int compute);
/* Compute instances: profiles are 1, 2, 3, 4 and 7 slices, id 0 to 4. */
int vf_mig_compute_slices(uint32_t profile);
int vf_mig_compute_create(struct vf_gpu_instance *instance, uint32_t profile,
                          int start);
bool vf_mig_compute_fits(const struct vf_gpu_instance *instance,
                         uint32_t start, uint32_t slices);

#endif
