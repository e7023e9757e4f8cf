#include "svm.h"

#include <pthread.h>
#include <stdlib.h>

enum { BUCKETS = 1024 };

struct entry {
    const void *pointer;
    uint64_t bytes;
    struct entry *next;
};

static struct entry *table[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct entry **bucket_of(const void *pointer)
{
    return &table[((uintptr_t)pointer >> 7) % BUCKETS];
}

bool vx_svm_put(const void *pointer, uint64_t bytes)
{
    struct entry *e = malloc(sizeof *e);
    if (!e)
        return false;
    pthread_mutex_lock(&lock);
    struct entry **head = bucket_of(pointer);
    *e = (struct entry){pointer, bytes, *head};
    *head = e;
    pthread_mutex_unlock(&lock);
    return true;
}

uint64_t vx_svm_take(const void *pointer)
{
    uint64_t bytes = 0;
    pthread_mutex_lock(&lock);
    for (struct entry **at = bucket_of(pointer); *at; at = &(*at)->next) {
        if ((*at)->pointer != pointer)
            continue;
        struct entry *e = *at;
        *at = e->next;
        bytes = e->bytes;
        free(e);
        break;
    }
    pthread_mutex_unlock(&lock);
    return bytes;
}

void vx_svm_after_fork(void)
{
    /* The parent's pointers are not this process's charges: forget them.
     * The entries are left alone, since its allocator may have been busy. */
    pthread_mutex_init(&lock, NULL);
    for (int i = 0; i < BUCKETS; i++)
        table[i] = NULL;
}
