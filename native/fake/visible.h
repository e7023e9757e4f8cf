/* The devices that CUDA_VISIBLE_DEVICES leaves to this process. */
#ifndef VXPU_FAKE_VISIBLE_H
#define VXPU_FAKE_VISIBLE_H

#include "card.h"

struct vf_visible {
    struct vf_card *card;
    int instance, compute; /* indices of the MIG device; -1 without MIG */
};

/* Reads cards and environment; returns how many are visible. */
int vf_visible_find(struct vf_visible visible[VF_CARDS]);

#endif
