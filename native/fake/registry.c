/* Address ranges and handles: two search trees under one lock. */
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "forget.h"
#include "memory.h"

struct handle {
    const void *object;
    enum vf_handle kind;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *ranges, *handles;
static uint64_t last_id;

void vf_memory_lock(void)
{
    pthread_mutex_lock(&lock);
}

void vf_memory_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* Ranges never overlap: one byte inside is enough to be the same. */
static int by_address(const void *a, const void *b)
{
    const struct vf_range *x = a, *y = b;
    if (x->base + x->size <= y->base)
        return -1;
    return y->base + y->size <= x->base;
}

static int by_object(const void *a, const void *b)
{
    const struct handle *x = a, *y = b;
    return (x->object > y->object) - (x->object < y->object);
}

struct vf_range *vf_range_at(uint64_t address)
{
    const struct vf_range key = {.base = address, .size = 1};
    struct vf_range **found = tfind(&key, &ranges, by_address);
    return found ? *found : NULL;
}

struct vf_range *vf_range_from(uint64_t base)
{
    struct vf_range *range = vf_range_at(base);
    return range && range->base == base ? range : NULL;
}

/* Memory that a checkpoint of this process can not move. */
static bool is_shared(const struct vf_range *range)
{
    return range->kind == VF_RANGE_MANAGED || range->kind == VF_RANGE_IPC ||
           range->kind == VF_RANGE_IMPORTED ||
           range->kind == VF_RANGE_EXTERNAL;
}

struct vf_range *vf_range_add(const struct vf_range *from)
{
    struct vf_range *range = malloc(sizeof *range);
    if (!range)
        return NULL;
    *range = *from;
    range->id = ++last_id;
    struct vf_range **at = tsearch(range, &ranges, by_address);
    if (at && *at == range) {
        vf_checkpoint_shares(is_shared(range));
        return range;
    }
    free(range);
    return NULL;
}

void vf_range_share(struct vf_range *range)
{
    if (!range->shared)
        vf_checkpoint_shares(1);
    range->shared = true;
}

void vf_range_drop(struct vf_range *range)
{
    tdelete(range, &ranges, by_address);
    if (range->shared)
        vf_checkpoint_shares(-1);
    vf_checkpoint_shares(is_shared(range) ? -1 : 0);
    vf_give_for(range);
    if (range->kind == VF_RANGE_MANAGED)
        vf_managed_leave(range);
    if (range->mapped)
        vf_unmap((void *)(uintptr_t)range->base, range->mapped);
    free(range);
}

bool vf_describe(uint64_t address, struct vf_range *out)
{
    vf_memory_lock();
    const struct vf_range *range = vf_range_at(address);
    if (range)
        *out = *range;
    vf_memory_unlock();
    return range != NULL;
}

struct list {
    void **item;
    size_t count, room;
    int kind;
    CUcontext context;
    const void *owner;
};

static void append(struct list *list, void *item)
{
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 64;
        void **grown = realloc(list->item, room * sizeof *grown);
        if (!grown)
            return;
        list->item = grown;
        list->room = room;
    }
    list->item[list->count++] = item;
}

static void collect_range(const void *node, VISIT visit, void *argument)
{
    struct vf_range *range = *(struct vf_range *const *)node;
    struct list *list = argument;
    bool wanted = list->owner ? range->owner == list->owner
                              : range->context == list->context;
    if ((visit == postorder || visit == leaf) && wanted)
        append(list, range);
}

struct vf_range *vf_range_opened(uint64_t base, int pid)
{
    struct list list = {.owner = (void *)(uintptr_t)base};
    struct vf_range *found = NULL;
    twalk_r(ranges, collect_range, &list);
    for (size_t i = 0; i < list.count; i++) {
        struct vf_range *range = list.item[i];
        if (range->kind == VF_RANGE_IPC && range->flags == (unsigned)pid)
            found = range;
    }
    free(list.item);
    return found;
}

/* Collected first: a tree can't be changed while it is walked. */
static void drop_all(struct list *list)
{
    twalk_r(ranges, collect_range, list);
    for (size_t i = 0; i < list->count; i++)
        vf_range_drop(list->item[i]);
    free(list->item);
}

void vf_ranges_drop_of(CUcontext context)
{
    struct list list = {.context = context};
    if (context)
        drop_all(&list);
}

void vf_ranges_drop_owned(const void *owner)
{
    struct list list = {.owner = owner};
    if (owner)
        drop_all(&list);
}

bool vf_handle_add(const void *object, enum vf_handle kind)
{
    struct handle *handle = malloc(sizeof *handle);
    if (!handle)
        return false;
    *handle = (struct handle){object, kind};
    return tsearch(handle, &handles, by_object) != NULL;
}

bool vf_handle_is(const void *object, enum vf_handle kind)
{
    const struct handle key = {.object = object};
    struct handle **found = tfind(&key, &handles, by_object);
    return found && (*found)->kind == kind;
}

void vf_handle_drop(const void *object)
{
    const struct handle key = {.object = object};
    struct handle **found = tfind(&key, &handles, by_object);
    if (!found)
        return;
    struct handle *handle = *found;
    tdelete(handle, &handles, by_object);
    free(handle);
}

static void collect_handle(const void *node, VISIT visit, void *argument)
{
    const struct handle *handle = *(struct handle *const *)node;
    struct list *list = argument;
    if ((visit == postorder || visit == leaf) &&
        (int)handle->kind == list->kind)
        append(list, (void *)(uintptr_t)handle->object);
}

void vf_handles_each(enum vf_handle kind, void (*visit)(void *, void *),
                     void *argument)
{
    struct list list = {.kind = (int)kind};
    twalk_r(handles, collect_handle, &list);
    for (size_t i = 0; i < list.count; i++)
        visit(list.item[i], argument);
    free(list.item);
}

void vf_registry_forget(void)
{
    ranges = handles = NULL;
}
