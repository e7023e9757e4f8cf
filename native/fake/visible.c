/*
 * Which cards a process sees. By the rules of the real driver: an entry that
 * names nothing ends the list; a UUID may be cut short while it is unique; a
 * process that can see a MIG device sees the first of them and nothing else;
 * a card in MIG mode is no device itself.
 */
#include <stdlib.h>
#include <string.h>

#include "visible.h"

enum { ALL = VF_CARDS * (1 + VF_MIG_SLICES * VF_MIG_SLICES) };

struct everything {
    int count, cards; /* whole cards come first, in order */
    struct vf_visible item[ALL];
};

static void add(struct everything *all, struct vf_card *card, int instance,
                int compute)
{
    all->item[all->count++] = (struct vf_visible){card, instance, compute};
}

static void add_mig_devices(struct everything *all, struct vf_card *card)
{
    for (int i = 0; i < VF_MIG_SLICES; i++) {
        const struct vf_gpu_instance *instance = &card->nvml.instances[i];

        for (int j = 0; instance->used && j < VF_MIG_SLICES; j++)
            if (instance->compute[j].used)
                add(all, card, i, j);
    }
}

static void find_everything(struct everything *all)
{
    all->count = 0;
    for (int i = 0; i < vf_count(); i++)
        if (!vf_knob(vf_card(i), lost))
            add(all, vf_card(i), -1, -1);
    all->cards = all->count;
    for (int i = 0; i < all->cards; i++)
        if (atomic_load(&all->item[i].card->nvml.mig_mode))
            add_mig_devices(all, all->item[i].card);
}

static bool is_mig(const struct vf_visible *device)
{
    return device->instance >= 0;
}

/* A card in MIG mode can be named, but only its instances are devices. */
static bool is_device(const struct vf_visible *device)
{
    return is_mig(device) || !atomic_load(&device->card->nvml.mig_mode);
}

static void name_of(const struct vf_visible *device, char text[VF_UUID_TEXT])
{
    uint8_t uuid[16];

    if (!is_mig(device)) {
        vf_uuid_text("GPU-", device->card->identity.uuid, text);
        return;
    }
    vf_mig_uuid(device->card, device->instance, device->compute, uuid);
    vf_uuid_text("MIG-", uuid, text);
}

static const struct vf_visible *by_uuid(const struct everything *all,
                                        const char *word, size_t length)
{
    const struct vf_visible *found = NULL;
    char text[VF_UUID_TEXT];

    for (int i = 0; i < all->count; i++) {
        name_of(&all->item[i], text);
        if (strncmp(text, word, length) || length >= sizeof text)
            continue;
        if (found) /* cut too short: it could be either */
            return NULL;
        found = &all->item[i];
    }
    return found;
}

static const struct vf_visible *by_number(const struct everything *all,
                                          const char *word)
{
    char *end;
    long number = strtol(word, &end, 10);

    if (end == word || number < 0 || number >= all->cards)
        return NULL;
    return &all->item[number];
}

static const struct vf_visible *named(const struct everything *all,
                                      const char *word, size_t length)
{
    if (length > 4 && (!strncmp(word, "GPU-", 4) || !strncmp(word, "MIG-", 4)))
        return by_uuid(all, word, length);
    return by_number(all, word);
}

static bool listed(const struct vf_visible *list, int count,
                   const struct vf_visible *device)
{
    for (int i = 0; i < count; i++)
        if (!memcmp(&list[i], device, sizeof *device))
            return true;
    return false;
}

static int by_list(const struct everything *all, const char *list,
                   struct vf_visible *visible)
{
    int count = 0;

    while (*list && count < VF_CARDS) {
        const struct vf_visible *device;
        size_t length;

        list += strspn(list, " \t");
        length = strcspn(list, ", \t");
        device = named(all, list, length);
        if (!device || listed(visible, count, device))
            break;
        visible[count++] = *device;
        list += length;
        list += strspn(list, " \t");
        list += *list == ',';
    }
    return count;
}

static int keep_devices(const struct everything *all, struct vf_visible *list,
                        int count)
{
    int kept = 0;

    for (int i = 0; i < count; i++) {
        if (is_device(&list[i])) {
            list[kept++] = list[i];
            continue;
        }
        /* A card in MIG mode stands for its first instance. */
        for (int j = all->cards; j < all->count; j++)
            if (all->item[j].card == list[i].card) {
                list[kept++] = all->item[j];
                break;
            }
    }
    for (int i = 0; i < kept; i++)
        if (is_mig(&list[i])) {
            list[0] = list[i];
            return 1;
        }
    return kept;
}

int vf_visible_find(struct vf_visible visible[VF_CARDS])
{
    static struct everything all;
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    int count;

    find_everything(&all);
    if (list) {
        count = by_list(&all, list, visible);
    } else {
        count = all.cards;
        memcpy(visible, all.item, (size_t)count * sizeof *visible);
    }
    return keep_devices(&all, visible, count);
}
