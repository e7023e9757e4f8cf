#include "charges.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "log.h"
#include "session.h"

enum { SHARDS = 64, BUCKETS = 256 };

struct shard {
    pthread_mutex_t lock;
    struct vx_charge *bucket[BUCKETS];
};

static struct shard shards[SHARDS] = {
    [0 ... SHARDS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

/* Keys are addresses: the low bits say little, so mix before cutting. */
static uint64_t mix(enum vx_space space, uint64_t key)
{
    uint64_t h = (key ^ (uint64_t)space << 56) * 0x9e3779b97f4a7c15ULL;
    return h ^ h >> 29;
}

static struct shard *shard_of(enum vx_space space, uint64_t key)
{
    return &shards[mix(space, key) % SHARDS];
}

static struct vx_charge **place_of(enum vx_space space, uint64_t key)
{
    uint64_t h = mix(space, key);
    struct vx_charge **at = &shards[h % SHARDS].bucket[h / SHARDS % BUCKETS];
    while (*at && ((*at)->key != key || (*at)->space != space))
        at = &(*at)->next;
    return at;
}

struct vx_charge *vx_charge_known(void)
{
    struct vx_charge *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->device = -1;
    c->life = vx_session_life();
    c->refs = 1;
    return c;
}

struct vx_charge *vx_charge_make(int device, enum vx_memory kind,
                                 uint64_t bytes)
{
    struct vx_charge *c = vx_charge_known();
    if (!c)
        return NULL;
    c->device = device;
    c->kind = kind;
    if (vx_charge_grow(c, bytes))
        return c;
    free(c);
    return NULL;
}

bool vx_charge_grow(struct vx_charge *c, uint64_t bytes)
{
    if (bytes && !vx_session_reserve((unsigned)c->device, c->kind, bytes))
        return false;
    c->bytes += bytes;
    return true;
}

void vx_charge_shrink(struct vx_charge *c, uint64_t bytes)
{
    if (bytes > c->bytes)
        bytes = c->bytes;
    c->bytes -= bytes;
    if (bytes && c->life == vx_session_life())
        vx_session_refund((unsigned)c->device, c->kind, bytes);
}

void vx_charge_drop(struct vx_charge *c)
{
    while (c && atomic_fetch_sub(&c->refs, 1) == 1) {
        struct vx_charge *backing = c->backing;
        for (struct vx_charge *h = c->holds, *next; h; h = next) {
            next = h->next;
            vx_charge_drop(h);
        }
        vx_charge_shrink(c, c->bytes);
        free(c->extra);
        free(c);
        c = backing;
    }
}

void vx_charge_bind(struct vx_charge *c, enum vx_space space, uint64_t key)
{
    struct shard *s = shard_of(space, key);
    c->space = space;
    c->key = key;
    pthread_mutex_lock(&s->lock);
    struct vx_charge **at = place_of(space, key), *stale = *at;
    c->next = stale ? stale->next : NULL;
    *at = c;
    pthread_mutex_unlock(&s->lock);
    /* The driver has given that key again, so what had it is gone. */
    if (stale) {
        atomic_store(&stale->refs, 1);
        vx_charge_drop(stale);
    }
}

struct vx_charge *vx_charge_take(enum vx_space space, uint64_t key)
{
    struct shard *s = shard_of(space, key);
    pthread_mutex_lock(&s->lock);
    struct vx_charge **at = place_of(space, key), *c = *at;
    if (c)
        *at = c->next;
    pthread_mutex_unlock(&s->lock);
    return c;
}

bool vx_charge_retain(enum vx_space space, uint64_t key)
{
    struct shard *s = shard_of(space, key);
    pthread_mutex_lock(&s->lock);
    struct vx_charge *c = *place_of(space, key);
    if (c)
        atomic_fetch_add(&c->refs, 1);
    pthread_mutex_unlock(&s->lock);
    return c != NULL;
}

bool vx_charge_release(enum vx_space space, uint64_t key,
                       struct vx_charge **last)
{
    struct shard *s = shard_of(space, key);
    *last = NULL;
    pthread_mutex_lock(&s->lock);
    struct vx_charge **at = place_of(space, key), *c = *at;
    if (c && atomic_load(&c->refs) > 1) {
        atomic_fetch_sub(&c->refs, 1);
    } else if (c) {
        *at = c->next;
        *last = c;
    }
    pthread_mutex_unlock(&s->lock);
    return c != NULL;
}

struct vx_charge *vx_charge_backing(enum vx_space space, uint64_t key)
{
    struct shard *s = shard_of(space, key);
    pthread_mutex_lock(&s->lock);
    struct vx_charge *c = *place_of(space, key);
    struct vx_charge *backing = c ? c->backing : NULL;
    if (backing)
        atomic_fetch_add(&backing->refs, 1);
    pthread_mutex_unlock(&s->lock);
    return backing;
}

static bool holds_already(const struct vx_charge *c,
                          const struct vx_charge *backing)
{
    for (const struct vx_charge *h = c->holds; h; h = h->next)
        if (h->backing == backing)
            return true;
    return false;
}

bool vx_charge_hold(enum vx_space space, uint64_t key,
                    struct vx_charge *backing)
{
    struct vx_charge *hold = vx_charge_known();
    if (!hold) {
        vx_charge_drop(backing);
        return false;
    }
    hold->backing = backing;
    struct shard *s = shard_of(space, key);
    pthread_mutex_lock(&s->lock);
    struct vx_charge *c = *place_of(space, key);
    /* A multicast object's mappings outlive its handle, so they hold too. */
    if (c && c->backing)
        c = c->backing;
    bool add = c && !holds_already(c, backing);
    if (add) {
        hold->next = c->holds;
        c->holds = hold;
    }
    pthread_mutex_unlock(&s->lock);
    if (!add)
        vx_charge_drop(hold);
    return c != NULL;
}

bool vx_charge_look(enum vx_space space, uint64_t key, struct vx_charge *copy)
{
    struct shard *s = shard_of(space, key);
    pthread_mutex_lock(&s->lock);
    struct vx_charge *c = *place_of(space, key);
    if (c)
        *copy = *c;
    pthread_mutex_unlock(&s->lock);
    return c != NULL;
}

bool vx_charge_find(enum vx_space space,
                    bool (*match)(struct vx_charge *, void *), void *arg)
{
    bool found = false;
    for (unsigned i = 0; i < SHARDS && !found; i++) {
        struct shard *s = &shards[i];
        pthread_mutex_lock(&s->lock);
        for (unsigned b = 0; b < BUCKETS && !found; b++)
            for (struct vx_charge *c = s->bucket[b]; c && !found; c = c->next)
                found = c->space == space && match(c, arg);
        pthread_mutex_unlock(&s->lock);
    }
    return found;
}

/* What to unlink: all of an owner, or what `match` says of one space. */
struct choice {
    uint64_t owner;
    enum vx_space space;
    bool (*match)(struct vx_charge *, void *);
    void *arg;
};

static bool is_chosen(struct vx_charge *c, const struct choice *w)
{
    return w->match ? c->space == w->space && w->match(c, w->arg)
                    : c->owner == w->owner;
}

/* The unlinked hang together by `next`. */
static struct vx_charge *unlink_chosen(struct shard *s, const struct choice *w)
{
    struct vx_charge *gone = NULL;
    for (unsigned b = 0; b < BUCKETS; b++) {
        struct vx_charge **at = &s->bucket[b];
        while (*at) {
            struct vx_charge *c = *at;
            if (!is_chosen(c, w)) {
                at = &c->next;
                continue;
            }
            *at = c->next;
            c->next = gone;
            gone = c;
        }
    }
    return gone;
}

static void drop_chosen(const struct choice *w)
{
    for (unsigned i = 0; i < SHARDS; i++) {
        pthread_mutex_lock(&shards[i].lock);
        struct vx_charge *gone = unlink_chosen(&shards[i], w), *next;
        pthread_mutex_unlock(&shards[i].lock);
        for (; gone; gone = next) {
            next = gone->next;
            atomic_store(&gone->refs, 1);
            vx_charge_drop(gone);
        }
    }
}

void vx_charge_drop_matching(enum vx_space space,
                             bool (*match)(struct vx_charge *, void *),
                             void *arg)
{
    drop_chosen(&(struct choice){.space = space, .match = match, .arg = arg});
}

void vx_charge_drop_owned(uint64_t owner)
{
    drop_chosen(&(struct choice){.owner = owner});
}

void vx_charges_after_fork(void)
{
    /* The parent's objects are not this process's charges: forget them.
     * The entries are left alone, since its allocator may have been busy. */
    for (unsigned i = 0; i < SHARDS; i++) {
        pthread_mutex_init(&shards[i].lock, NULL);
        for (unsigned b = 0; b < BUCKETS; b++)
            shards[i].bucket[b] = NULL;
    }
}
