#include "cu_cost.h"

#include <pthread.h>

struct vx_cost vx_costs[VX_COST_ENTRIES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A mean over about so many: follows drift, is not led by one outlier. */
enum { MEMORY = 16, FLOOR_NS = 500 };

static struct vx_cost *entry(uint64_t key)
{
    return &vx_costs[vx_cost_at(key) - vx_costs];
}

unsigned vx_cost_get(uint64_t key, int64_t *ns)
{
    const struct vx_cost *c = vx_cost_at(key);
    unsigned samples = atomic_load(&c->samples);
    *ns = atomic_load(&c->ns);
    return atomic_load(&c->key) == key ? samples : 0;
}

/*
 * One place a key: two busy functions that share it are measured anew at
 * each turn, which costs them time and nobody accuracy.
 */
void vx_cost_learn(uint64_t key, int64_t ns, unsigned count)
{
    if (ns < FLOOR_NS)
        ns = FLOOR_NS;
    pthread_mutex_lock(&lock);
    struct vx_cost *c = entry(key);
    if (atomic_load(&c->key) != key) {
        atomic_store(&c->key, 0);
        atomic_store(&c->ns, ns);
        atomic_store(&c->samples, 0);
        atomic_store(&c->key, key);
    }
    uint32_t samples = atomic_load(&c->samples);
    int64_t old = atomic_load(&c->ns);
    int64_t share = samples < MEMORY ? samples + 1 : MEMORY;
    if (count > share)
        count = (unsigned)share;
    atomic_store(&c->ns, old + (ns - old) * (int64_t)count / share);
    atomic_store(&c->samples, samples < MEMORY ? samples + 1 : samples);
    pthread_mutex_unlock(&lock);
}

void vx_cost_forget(uint64_t key)
{
    pthread_mutex_lock(&lock);
    struct vx_cost *c = entry(key);
    if (atomic_load(&c->key) == key) {
        atomic_store(&c->samples, 0);
        atomic_store(&c->key, 0);
    }
    pthread_mutex_unlock(&lock);
}

void vx_cost_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
}
