/*
 * vxpu-fake-card: makes simulated cards, and reads and sets their knobs.
 *
 *   vxpu-fake-card create --dir D --cards 2 [--memory-mib 24576] [--sms 132]
 *                         [--clock real|virtual] [--seed S]
 *   vxpu-fake-card set --dir D --card 0 name=value ...
 *   vxpu-fake-card set --dir D --card 0 fail.<call>=<code>[:times] ...
 *   vxpu-fake-card get --dir D --card 0 [name ...]
 *   vxpu-fake-card list --dir D
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "card.h"

struct options {
    const char *dir;
    uint64_t cards, memory_mib, sms, seed, card;
    enum vf_clock_kind clock;
};

static int usage(const char *why)
{
    fprintf(stderr,
            "vxpu-fake-card: %s\n"
            "usage: vxpu-fake-card create|set|get|list --dir D [--cards N]\n"
            "  [--memory-mib M] [--sms S] [--clock real|virtual] [--seed S]\n"
            "  [--card N] [name=value ...]\n", why);
    return 2;
}

static bool number(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 0);
    return errno == 0 && end != text && *end == '\0';
}

static bool option(struct options *o, int key, const char *text)
{
    switch (key) {
    case 'd': o->dir = text; return true;
    case 'n': return number(text, &o->cards) && o->cards <= VF_CARDS;
    case 'm': return number(text, &o->memory_mib) && o->memory_mib > 0 &&
                     o->memory_mib <= (1ULL << 24);
    case 's': return number(text, &o->sms) && o->sms > 0 && o->sms <= 1024;
    case 'e': return number(text, &o->seed);
    case 'c': return number(text, &o->card) && o->card < VF_CARDS;
    case 'k':
        o->clock = strcmp(text, "virtual") == 0 ? VF_CLOCK_VIRTUAL
                                                : VF_CLOCK_REAL;
        return o->clock == VF_CLOCK_VIRTUAL || strcmp(text, "real") == 0;
    default: return false;
    }
}

/* One stable stream of bits for a seed and a card (splitmix64). */
static uint64_t mix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

static struct vf_identity identify(const struct options *o, uint64_t index)
{
    struct vf_identity id = {.index = index, .seed = o->seed, .sms = o->sms,
                             .memory_bytes = o->memory_mib << 20};
    uint64_t state = o->seed * 1000003 + index;
    uint64_t half[2] = {mix(&state), mix(&state)};
    memcpy(id.uuid, half, sizeof id.uuid);
    id.uuid[6] = (uint8_t)((id.uuid[6] & 0x0f) | 0x40);
    id.uuid[8] = (uint8_t)((id.uuid[8] & 0x3f) | 0x80);
    snprintf(id.name, sizeof id.name, "Simulated GPU %" PRIu64 "GB",
             (o->memory_mib + 512) / 1024);
    id.pci_bus = (uint32_t)index + 1;
    snprintf(id.serial, sizeof id.serial, "SIM%010llu",
             (unsigned long long)(mix(&state) % 10000000000ULL));
    return id;
}

static int create(const struct options *o)
{
    int failed = vf_clock_create(o->dir, o->clock);
    for (uint64_t i = 0; i < o->cards && !failed; i++) {
        struct vf_identity id = identify(o, i);
        failed = vf_create(o->dir, &id);
    }
    if (failed)
        fprintf(stderr, "vxpu-fake-card: %s: %s\n", o->dir, strerror(-failed));
    return failed ? 1 : 0;
}

static struct vf_card *find(const struct options *o)
{
    for (int i = 0; i < vf_count(); i++)
        if (vf_card(i)->identity.index == o->card)
            return vf_card(i);
    fprintf(stderr, "vxpu-fake-card: %s: no card %" PRIu64 "\n", o->dir,
            o->card);
    return NULL;
}

/* "cuMemAlloc_v2" and "2" or "2:5": the next (five) calls answer 2. */
static bool arm(struct vf_card *card, const char *call, char *text)
{
    uint64_t code, times = 1;
    char *colon = strchr(text, ':');
    if (colon)
        *colon = '\0';
    return number(text, &code) && (!colon || number(colon + 1, &times)) &&
           vf_fault_set(card, call, (uint32_t)code, (uint32_t)times);
}

static int set(struct vf_card *card, char **pairs)
{
    for (; *pairs; pairs++) {
        char *is = strchr(*pairs, '=');
        uint64_t value;
        if (is && strncmp(*pairs, "fail.", 5) == 0) {
            *is = '\0';
            if (!arm(card, *pairs + 5, is + 1))
                return usage("fail.<call>=<code>[:times] expected");
            continue;
        }
        if (!is || !number(is + 1, &value))
            return usage("name=value expected");
        *is = '\0';
        int knob = vf_knob_find(*pairs);
        if (knob < 0)
            return usage("no such knob");
        atomic_store(&card->knobs[knob], value);
    }
    return 0;
}

static int get(struct vf_card *card, char **names)
{
    const char *comma = "";
    printf("{");
    for (int i = 0; i < (int)VF_KNOB_COUNT; i++) {
        bool wanted = !names[0];
        for (char **n = names; *n && !wanted; n++)
            wanted = strcmp(*n, vf_knob_name(i)) == 0;
        if (!wanted)
            continue;
        printf("%s\"%s\": %" PRIu64, comma, vf_knob_name(i),
               (uint64_t)atomic_load(&card->knobs[i]));
        comma = ", ";
    }
    printf("}\n");
    return 0;
}

static void print_uuid(const uint8_t *uuid)
{
    printf("GPU-");
    for (int i = 0; i < 16; i++)
        printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
               uuid[i]);
}

static void print_processes(struct vf_card *card)
{
    const char *comma = "";
    for (int i = 0; i < VF_PROCESSES; i++) {
        struct vf_process *p = &card->processes[i];
        if (p->state != VF_LIVE)
            continue;
        printf("%s{\"index\": %d, \"pid\": %d, \"memory_bytes\": %" PRIu64
               ", \"busy_ns\": %" PRIu64 "}", comma, i,
               (int)vf_process_pid(card, i), (uint64_t)p->memory_bytes,
               (uint64_t)card->engine.queues[i].busy_ns);
        comma = ", ";
    }
}

static uint64_t spilled_bytes(struct vf_card *card)
{
    uint64_t sum = 0;
    for (int i = 0; i < VF_PROCESSES; i++)
        sum += atomic_load(&card->memory.spilled[i]);
    return sum;
}

static int list(void)
{
    printf("[");
    for (int i = 0; i < vf_count(); i++) {
        struct vf_card *card = vf_card(i);
        vf_reap(card);
        vf_advance(card);
        printf("%s{\"card\": %" PRIu64 ", \"name\": \"%s\", \"uuid\": \"",
               i ? ",\n " : "", card->identity.index, card->identity.name);
        print_uuid(card->identity.uuid);
        printf("\", \"simulated\": true, \"clock\": \"%s\", \"sms\": %" PRIu64
               ", \"memory_bytes\": %" PRIu64 ", \"used_bytes\": %" PRIu64
               ", \"spilled_bytes\": %" PRIu64 ", \"busy_ns\": %" PRIu64
               ", \"processes\": [",
               vf_clock_is_virtual() ? "virtual" : "real", card->identity.sms,
               card->identity.memory_bytes, (uint64_t)card->memory_used,
               spilled_bytes(card), (uint64_t)card->engine.busy_ns);
        print_processes(card);
        printf("]}");
    }
    printf("]\n");
    return 0;
}

static const struct option LONG[] = {
    {"dir", 1, NULL, 'd'},   {"cards", 1, NULL, 'n'},
    {"memory-mib", 1, NULL, 'm'}, {"sms", 1, NULL, 's'},
    {"seed", 1, NULL, 'e'},  {"card", 1, NULL, 'c'},
    {"clock", 1, NULL, 'k'}, {NULL, 0, NULL, 0}};

int main(int argc, char **argv)
{
    struct options o = {.cards = 1, .memory_mib = 24576, .sms = 132,
                        .seed = 1};
    int key;
    if (argc < 2)
        return usage("what to do?");
    const char *verb = argv[1];
    argv[1] = argv[0];
    argv++, argc--;
    while ((key = getopt_long(argc, argv, "", LONG, NULL)) != -1)
        if (!option(&o, key, optarg))
            return usage("bad option or value");
    if (!o.dir)
        return usage("--dir is missing");
    setenv("VXPU_FAKE_DIR", o.dir, 1);
    if (strcmp(verb, "create") == 0)
        return create(&o);
    if (strcmp(verb, "list") == 0)
        return list();
    struct vf_card *card = find(&o);
    if (!card)
        return 1;
    if (strcmp(verb, "set") == 0)
        return set(card, argv + optind);
    if (strcmp(verb, "get") == 0)
        return get(card, argv + optind);
    return usage("create, set, get or list");
}
