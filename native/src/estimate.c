#include "estimate.h"

#include <pthread.h>

enum { ENTRIES = 1024, PROBES = 4, FLOOR_NS = 1000 };

struct entry {
    uint64_t key;
    int64_t ns;
    unsigned samples;
};

static struct entry table[ENTRIES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t vx_estimate_mix(uint64_t key, uint64_t word)
{
    key ^= word + 0x9e3779b97f4a7c15ULL + (key << 6) + (key >> 2);
    key ^= key >> 33;
    key *= 0xff51afd7ed558ccdULL;
    return key ^ key >> 33;
}

static struct entry *find(uint64_t key)
{
    for (unsigned i = 0; i < PROBES; i++) {
        struct entry *e = &table[(key + i) % ENTRIES];
        if (e->key == key && e->ns > 0)
            return e;
    }
    return 0;
}

unsigned vx_estimate_get(uint64_t key, int64_t *ns)
{
    pthread_mutex_lock(&lock);
    const struct entry *e = find(key);
    *ns = e ? e->ns : VX_UNMEASURED_NS;
    unsigned samples = e ? e->samples : 0;
    pthread_mutex_unlock(&lock);
    return samples;
}

/* An unused place near the key, else the first one is forgotten. */
static struct entry *place_for(uint64_t key)
{
    for (unsigned i = 0; i < PROBES; i++) {
        struct entry *e = &table[(key + i) % ENTRIES];
        if (e->ns == 0)
            return e;
    }
    return &table[key % ENTRIES];
}

void vx_estimate_learn(uint64_t key, int64_t measured_ns)
{
    if (measured_ns < FLOOR_NS)
        measured_ns = FLOOR_NS;
    pthread_mutex_lock(&lock);
    struct entry *e = find(key);
    if (!e) {
        e = place_for(key);
        *e = (struct entry){key, measured_ns, 0};
    }
    /* The first run often compiles; come down from that at once. */
    if (e->samples < 3 && measured_ns < e->ns)
        e->ns = measured_ns;
    else
        e->ns += (measured_ns - e->ns) / 4;
    e->samples++;
    pthread_mutex_unlock(&lock);
}

void vx_estimate_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
}
