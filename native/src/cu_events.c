#include "cu_events.h"

#include <stddef.h>
#include <string.h>

#include "cu_real.h"
#include "cu_span.h"

enum { HOMES = 16, POOL = 520 };

struct home {
    CUcontext context; /* NULL: unused */
    int device;
    CUevent frontier; /* the end of the last busy block */
    struct vx_span span;
    CUevent pool[POOL];
    unsigned free;
};

static struct home homes[HOMES];

static int find_home(int device)
{
    CUcontext now = NULL;
    if (vx_cu()->cuCtxGetCurrent(&now) != CUDA_SUCCESS || !now)
        return -1;
    for (int i = 0; i < HOMES; i++)
        if (homes[i].context == now && homes[i].device == device)
            return i;
    for (int i = 0; i < HOMES; i++) {
        if (homes[i].context)
            continue;
        homes[i].context = now;
        homes[i].device = device;
        return i;
    }
    return -1;
}

static CUevent take_one(struct home *h)
{
    CUevent e = NULL;
    if (h->free)
        return h->pool[--h->free];
    return vx_cu()->cuEventCreate(&e, CU_EVENT_DEFAULT) == CUDA_SUCCESS ? e
                                                                        : NULL;
}

/* NULL home: its context was forgotten meanwhile. */
static void give_one(struct home *h, CUevent e)
{
    if (!e)
        return;
    if (h && h->free < POOL)
        h->pool[h->free++] = e;
    else
        vx_cu()->cuEventDestroy_v2(e);
}

static struct home *home_of(const struct vx_event_pair *pair)
{
    struct home *h = &homes[pair->home];
    return h->context == pair->context ? h : NULL;
}

bool vx_events_take(int device, struct vx_event_pair *pair)
{
    pair->home = find_home(device);
    if (pair->home < 0)
        return false;
    struct home *h = &homes[pair->home];
    pair->context = h->context;
    pair->start = take_one(h);
    pair->end = take_one(h);
    if (pair->start && pair->end)
        return true;
    vx_events_give(pair);
    return false;
}

void vx_events_give(struct vx_event_pair *pair)
{
    give_one(home_of(pair), pair->start);
    give_one(home_of(pair), pair->end);
    pair->start = pair->end = NULL;
}

/* False: the driver can not tell. */
static bool between(CUevent a, CUevent b, int64_t *ns)
{
    float ms = 0;
    *ns = 0;
    if (vx_cu()->cuEventElapsedTime(&ms, a, b) != CUDA_SUCCESS)
        return false;
    *ns = (int64_t)((double)ms * 1e6);
    return true;
}

int64_t vx_events_settle(struct vx_event_pair *pair, int64_t *elapsed)
{
    struct home *h = home_of(pair);
    int64_t fresh, start, moved;
    if (!between(pair->start, pair->end, elapsed) || !h) {
        vx_events_give(pair);
        return *elapsed;
    }
    /*
     * The time of a float in milliseconds is coarse far from its zero: behind
     * a gap the batch's own length is all that is asked for.
     */
    if (!h->frontier || !between(h->frontier, pair->start, &start) || start > 0)
        start = 1;
    fresh = vx_span_add(&h->span, start, start + *elapsed, &moved);
    if (moved > 0) {
        give_one(h, h->frontier);
        h->frontier = pair->end;
        pair->end = NULL;
    }
    vx_events_give(pair);
    return fresh;
}

bool vx_events_are_current(const struct vx_event_pair *pair)
{
    CUcontext now = NULL;
    return vx_cu()->cuCtxGetCurrent(&now) == CUDA_SUCCESS &&
           now == pair->context;
}

void vx_events_forget(int device)
{
    for (int i = 0; i < HOMES; i++) {
        struct home *h = &homes[i];
        if (!h->context || h->device != device)
            continue;
        while (h->free)
            vx_cu()->cuEventDestroy_v2(h->pool[--h->free]);
        if (h->frontier)
            vx_cu()->cuEventDestroy_v2(h->frontier);
        memset(h, 0, sizeof *h);
    }
}

void vx_events_after_fork(void)
{
    /* The parent's handles mean nothing here. */
    memset(homes, 0, sizeof homes);
}
