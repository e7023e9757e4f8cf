/*
 * MIG: a card of seven compute and eight memory slices, as the first cards
 * that had it. Placements and profile ids are those of such cards.
 */
#include <stdio.h>
#include <string.h>

#include "mig.h"

static const struct vf_mig_profile profiles[] = {
    {0, 19, 1, 1, 7, 1}, {9, 15, 1, 2, 4, 1}, {1, 14, 2, 2, 3, 2},
    {2, 9, 3, 4, 2, 3},  {3, 5, 4, 4, 1, 4},  {4, 0, 7, 8, 1, 7},
};

enum { PROFILES = sizeof profiles / sizeof profiles[0] };

const struct vf_mig_profile *vf_mig_by_number(uint32_t number)
{
    for (int i = 0; i < PROFILES; i++)
        if (profiles[i].number == number)
            return &profiles[i];
    return NULL;
}

const struct vf_mig_profile *vf_mig_by_id(uint32_t id)
{
    for (int i = 0; i < PROFILES; i++)
        if (profiles[i].id == id)
            return &profiles[i];
    return NULL;
}

int vf_mig_starts(const struct vf_mig_profile *profile, uint32_t starts[8])
{
    uint32_t step = profile->memory_slices;
    uint32_t end = VF_MIG_MEMORY_SLICES;
    int count = 0;

    if (step == 1) /* the eighth memory slice has no compute of its own */
        end = VF_MIG_SLICES;
    if (profile->slices == 2) /* nor have the last two a pair */
        end = VF_MIG_SLICES - 1;
    if (profile->slices == 4)
        end = 4;
    for (uint32_t start = 0; start + step <= end; start += step)
        starts[count++] = start;
    return count;
}

bool vf_mig_fits(const struct vf_card *card,
                 const struct vf_mig_profile *profile, uint32_t start)
{
    uint32_t slices = profile->slices;

    for (int i = 0; i < VF_MIG_SLICES; i++) {
        const struct vf_gpu_instance *other = &card->nvml.instances[i];

        if (!other->used)
            continue;
        slices += other->slices;
        if (start < other->start + other->memory_slices &&
            other->start < start + profile->memory_slices)
            return false;
    }
    return slices <= VF_MIG_SLICES;
}

static int place(struct vf_card *card, const struct vf_mig_profile *profile,
                 uint32_t start)
{
    for (int i = 0; i < VF_MIG_SLICES; i++) {
        struct vf_gpu_instance *instance = &card->nvml.instances[i];

        if (instance->used)
            continue;
        memset(instance, 0, sizeof *instance);
        instance->id = (uint32_t)i + 1;
        instance->profile = profile->id;
        instance->start = start;
        instance->memory_slices = profile->memory_slices;
        instance->slices = profile->slices;
        instance->used = 1;
        return i;
    }
    return -1;
}

int vf_mig_create(struct vf_card *card, const struct vf_mig_profile *profile,
                  int start)
{
    uint32_t starts[8];
    int count = vf_mig_starts(profile, starts);

    for (int i = 0; i < count; i++)
        if ((start < 0 || starts[i] == (uint32_t)start) &&
            vf_mig_fits(card, profile, starts[i]))
            return place(card, profile, starts[i]);
    return -1;
}

uint32_t vf_mig_remaining(const struct vf_card *card,
                          const struct vf_mig_profile *profile)
{
    uint32_t starts[8], slices = 0, count = 0;
    int places = vf_mig_starts(profile, starts);

    for (int i = 0; i < VF_MIG_SLICES; i++)
        if (card->nvml.instances[i].used)
            slices += card->nvml.instances[i].slices;
    for (int i = 0; i < places; i++)
        if (vf_mig_fits(card, profile, starts[i]) &&
            slices + (count + 1) * profile->slices <= VF_MIG_SLICES)
            count++;
    return count;
}

bool vf_mig_busy(struct vf_card *card, int instance, int compute)
{
    for (int i = 0; i < VF_PROCESSES; i++) {
        const struct vf_nvml_process *process = &card->nvml.processes[i];

        if (process->instance == (uint32_t)instance + 1 &&
            (compute < 0 || process->compute == (uint32_t)compute + 1) &&
            vf_process_pid(card, i) >= 0)
            return true;
    }
    return false;
}

int vf_mig_compute_slices(uint32_t profile)
{
    static const int slices[] = {1, 2, 3, 4, 7};

    return profile < 5 ? slices[profile] : 0;
}

bool vf_mig_compute_fits(const struct vf_gpu_instance *instance,
                         uint32_t start, uint32_t slices)
{
    if (start + slices > instance->slices)
        return false;
    for (int i = 0; i < VF_MIG_SLICES; i++) {
        const struct vf_compute_instance *other = &instance->compute[i];

        if (other->used && start < other->start + other->slices &&
            other->start < start + slices)
            return false;
    }
    return true;
}

int vf_mig_compute_create(struct vf_gpu_instance *instance, uint32_t profile,
                          int start)
{
    uint32_t slices = (uint32_t)vf_mig_compute_slices(profile);
    uint32_t at = start < 0 ? 0 : (uint32_t)start;
    int index = 0;

    while (start < 0 && at < instance->slices &&
           !vf_mig_compute_fits(instance, at, slices))
        at++;
    if (!slices || !vf_mig_compute_fits(instance, at, slices))
        return -1;
    while (index < VF_MIG_SLICES && instance->compute[index].used)
        index++;
    if (index == VF_MIG_SLICES)
        return -1;
    instance->compute[index] = (struct vf_compute_instance){
        .used = 1, .id = (uint32_t)index, .profile = profile, .start = at,
        .slices = slices};
    return index;
}

/* ---- what an instance is worth ----------------------------------------- */

uint64_t vf_mig_bytes(const struct vf_card *card,
                      const struct vf_gpu_instance *instance)
{
    uint64_t slice = card->identity.memory_bytes / VF_MIG_MEMORY_SLICES;

    return (slice * instance->memory_slices) >> 20 << 20;
}

uint32_t vf_mig_sms(const struct vf_card *card, uint32_t slices)
{
    uint32_t sms = (uint32_t)card->identity.sms;

    /* All seven together have the eighth part that single slices leave. */
    return slices == VF_MIG_SLICES ? sms : sms * slices / VF_MIG_MEMORY_SLICES;
}

void vf_mig_uuid(const struct vf_card *card, int instance, int compute,
                 uint8_t uuid[16])
{
    uint64_t word = 0xcbf29ce484222325ULL;

    for (int i = 0; i < 16; i++)
        word = (word ^ card->identity.uuid[i]) * 0x100000001b3ULL;
    word ^= (uint64_t)(instance + 1) << 8 | (uint64_t)(compute + 1);
    for (int i = 0; i < 16; i++) {
        word = (word ^ (word >> 29)) * 0xbf58476d1ce4e5b9ULL;
        uuid[i] = (uint8_t)(word >> 40);
    }
    uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x50);
    uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
}

void vf_mig_name(const struct vf_card *card,
                 const struct vf_gpu_instance *instance, char *name,
                 unsigned size)
{
    uint64_t gib = (vf_mig_bytes(card, instance) + (1u << 29)) >> 30;

    snprintf(name, size, "%s MIG %ug.%ugb", card->identity.name,
             instance->slices, (unsigned)gib);
}

/* ---- the instance that this process lives on --------------------------- */

static struct {
    const struct vf_card *card;
    uint32_t instance, compute;
} chosen;

void vf_mig_choose(const struct vf_card *card, int instance, int compute)
{
    chosen.card = card;
    chosen.instance = (uint32_t)(instance + 1);
    chosen.compute = (uint32_t)(compute + 1);
}

void vf_mig_apply(const struct vf_card *card, struct vf_nvml_process *process)
{
    if (chosen.card != card)
        return;
    process->instance = chosen.instance;
    process->compute = chosen.compute;
}

/* ---- what a process sees of the card ----------------------------------- */

static const struct vf_gpu_instance *instance_of(const struct vf_card *card,
                                                 int index)
{
    uint32_t instance = index < 0 ? 0 : card->nvml.processes[index].instance;

    return instance ? &card->nvml.instances[instance - 1] : NULL;
}

uint64_t vf_visible_bytes(struct vf_card *card, int index)
{
    const struct vf_gpu_instance *instance = instance_of(card, index);

    return instance ? vf_mig_bytes(card, instance)
                    : card->identity.memory_bytes;
}

uint64_t vf_visible_used(struct vf_card *card, int index)
{
    uint64_t used = 0;

    if (!instance_of(card, index))
        return atomic_load(&card->memory_used);
    for (int i = 0; i < VF_PROCESSES; i++)
        if (card->nvml.processes[i].instance ==
            card->nvml.processes[index].instance)
            used += atomic_load(&card->processes[i].memory_bytes);
    return used;
}

uint32_t vf_visible_sms(struct vf_card *card, int index)
{
    const struct vf_gpu_instance *instance = instance_of(card, index);
    uint32_t compute;

    if (!instance)
        return (uint32_t)card->identity.sms;
    compute = card->nvml.processes[index].compute;
    return vf_mig_sms(card, compute ? instance->compute[compute - 1].slices
                                    : instance->slices);
}
