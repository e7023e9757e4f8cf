/* Faults that an operator arms by name: the next calls answer that code. */
#include <string.h>

#include "parts.h"

bool vf_fault_set(struct vf_card *card, const char *call, uint32_t code,
                  uint32_t times)
{
    struct vf_fault *slot = NULL;

    if (!*call || strlen(call) >= sizeof slot->call)
        return false;
    vf_lock(card);
    for (int i = 0; i < VF_FAULTS && !slot; i++)
        if (!strcmp(card->nvml.faults[i].call, call))
            slot = &card->nvml.faults[i];
    for (int i = 0; i < VF_FAULTS && !slot; i++)
        if (!atomic_load(&card->nvml.faults[i].left))
            slot = &card->nvml.faults[i];
    if (slot) {
        atomic_store(&slot->left, 0);
        strcpy(slot->call, call);
        slot->code = code;
        atomic_store(&slot->left, times);
        atomic_store(&card->nvml.faults_armed, 1);
    }
    vf_unlock(card);
    return slot != NULL;
}

static bool take(struct vf_card *card, const char *call, CUresult *code)
{
    if (!atomic_load_explicit(&card->nvml.faults_armed, memory_order_relaxed))
        return false;
    for (int i = 0; i < VF_FAULTS; i++) {
        struct vf_fault *fault = &card->nvml.faults[i];
        uint32_t left = atomic_load(&fault->left);

        if (!left || strcmp(fault->call, call))
            continue;
        while (left)
            if (atomic_compare_exchange_weak(&fault->left, &left, left - 1)) {
                *code = (CUresult)fault->code;
                return true;
            }
    }
    return false;
}

bool vf_inject(const char *call, CUresult *code)
{
    for (int i = 0; i < vf_count(); i++)
        if (take(vf_card(i), call, code))
            return true;
    return false;
}
