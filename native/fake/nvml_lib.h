/* What the parts of the simulated NVML share; nothing of it is exported. */
#ifndef VXPU_FAKE_NVML_LIB_H
#define VXPU_FAKE_NVML_LIB_H

#include "card.h"
#include "export.h"
#include "vxpu/nvml_abi.h"

/* What a handle points to. Handles live for good and compare by address. */
struct nvmlDevice_st {
    int card;              /* place among vf_count() */
    int instance, compute; /* indices of the MIG device; -1: the card */
};

bool nv_ready(void);
nvmlDevice_t nv_device(int card, int instance, int compute);
/*
 * What every call on a device begins with: initialised, no fault armed under
 * `call` (the caller's __func__), `out` given, a handle of ours, card there.
 * nv_whole refuses MIG devices besides, nv_root all but the superuser.
 */
nvmlReturn_t nv_any(const char *call, nvmlDevice_t device, const void *out,
                    struct vf_card **card);
nvmlReturn_t nv_whole(const char *call, nvmlDevice_t device, const void *out,
                      struct vf_card **card);
nvmlReturn_t nv_root(const char *call, nvmlDevice_t device,
                     struct vf_card **card);
bool nv_is_mig(nvmlDevice_t device);
const struct vf_gpu_instance *nv_instance(nvmlDevice_t device);

void nv_uuid(nvmlDevice_t device, char text[VF_UUID_TEXT]);

/* Copies a text of NVML; INSUFFICIENT_SIZE when it does not fit. */
nvmlReturn_t nv_text(const char *text, char *out, unsigned int size);

/* ---- nvml_usage.c ------------------------------------------------------ */

/* The newest sample period that is over, and what one process got in it. */
uint64_t nv_last_period(void);
uint64_t nv_busy(struct vf_card *card, int index, uint64_t first,
                 uint64_t last);
unsigned nv_busy_percent(struct vf_card *card);

#endif
