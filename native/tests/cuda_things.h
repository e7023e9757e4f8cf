/* Names for what a scripted test program made, and its commands' words. */
#ifndef VXPU_TEST_CUDA_THINGS_H
#define VXPU_TEST_CUDA_THINGS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_calls.h"

enum { THINGS = 256, WORDS = 8 };

struct thing {
    char name[24];
    uint64_t value, bytes, at;
};

static struct thing things[THINGS];
static char *word[WORDS]; /* of the line; word[0] is the command */

/* The thing of that name, made at need. */
static struct thing *thing(const char *name)
{
    struct thing *empty = NULL;
    for (int i = 0; i < THINGS; i++) {
        if (strcmp(things[i].name, name ? name : "") == 0 && name)
            return &things[i];
        if (!empty && !things[i].name[0])
            empty = &things[i];
    }
    if (!empty)
        exit(9);
    snprintf(empty->name, sizeof empty->name, "%s", name ? name : "?");
    return empty;
}

/* "3", "64k", "600m", "2g" */
static uint64_t number(const char *text)
{
    char *end;
    uint64_t n = strtoull(text ? text : "0", &end, 0);
    return *end == 'k' ? n << 10 : *end == 'm' ? n << 20
         : *end == 'g' ? n << 30 : n;
}

static void *pointer(uint64_t value)
{
    return (void *)(uintptr_t)value;
}

/* A handle argument by name; "-" and nothing are NULL. */
static void *handle(const char *name)
{
    return name && strcmp(name, "-") ? pointer(thing(name)->value) : NULL;
}

static CUresult keep(CUresult err, const char *name, uint64_t value,
                     uint64_t bytes)
{
    if (err == CUDA_SUCCESS) {
        thing(name)->value = value;
        thing(name)->bytes = bytes;
    }
    return err;
}

#endif
