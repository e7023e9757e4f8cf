/* Pieces of card memory of every class, and what each is charged. */
#ifndef VXPU_TEST_CUDA_FUZZ_CLASSES_H
#define VXPU_TEST_CUDA_FUZZ_CLASSES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_calls.h"

#define MIB (1ull << 20)

struct piece {
    int class;
    uint64_t bytes; /* charged; 0: none */
    uint64_t value, size;
};

static unsigned seed;
static CUcontext context;
static CUstream stream;
static CUmemoryPool pool;

static unsigned roll(unsigned below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static bool open_card(void)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED};
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return cuInit(0) == CUDA_SUCCESS &&
           cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
           cuCtxSetCurrent(context) == CUDA_SUCCESS &&
           cuStreamCreate(&stream, 1) == CUDA_SUCCESS &&
           cuMemPoolCreate(&pool, &props) == CUDA_SUCCESS;
}

static uint64_t up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* The published rule for memory of its own. */
static uint64_t own(uint64_t bytes)
{
    return bytes < MIB ? up(bytes, 4096) : up(bytes, 2 * MIB);
}

static CUresult take_plain(struct piece *p)
{
    p->bytes = own(p->size);
    return cuMemAlloc_v2((CUdeviceptr *)&p->value, p->size);
}

static CUresult take_managed(struct piece *p)
{
    p->bytes = own(p->size);
    return cuMemAllocManaged((CUdeviceptr *)&p->value, p->size, 1);
}

static CUresult take_pitch(struct piece *p)
{
    size_t pitch = 0, rows = 1 + p->size / 4096;
    CUresult err = cuMemAllocPitch_v2((CUdeviceptr *)&p->value, &pitch, 4000,
                                      rows, 4);
    p->bytes = err ? 0 : own(pitch * rows);
    return err;
}

/* In pools bytes count as they are; spilled, as memory of their own. */
static CUresult take_async(struct piece *p)
{
    p->bytes = p->size = own(own(p->size)); /* twice: just below 1 MiB */
    if (roll(2))
        return cuMemAllocFromPoolAsync((CUdeviceptr *)&p->value, p->size, pool,
                                       stream);
    return cuMemAllocAsync((CUdeviceptr *)&p->value, p->size, stream);
}

static CUresult take_array(struct piece *p)
{
    CUDA_ARRAY_DESCRIPTOR d = {.Width = 256, .Height = 1 + p->size / 4096,
                               .Format = CU_AD_FORMAT_FLOAT,
                               .NumChannels = 4};
    p->bytes = own(d.Height * 4096);
    CUarray array = NULL;
    CUresult err = cuArrayCreate_v2(&array, &d);
    p->value = (uintptr_t)array;
    return err;
}

/* Mapped, and the handle given up: the mapping alone holds it. */
static CUresult take_handle(struct piece *p)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
    CUmemGenericAllocationHandle h;
    CUdeviceptr at = 0;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p->bytes = p->size = up(p->size, 2 * MIB);
    CUresult err = cuMemCreate(&h, p->size, &prop, 0);
    if (err != CUDA_SUCCESS)
        return err;
    if (cuMemAddressReserve(&at, p->size, 0, 0, 0) ||
        cuMemMap(at, p->size, 0, h, 0) || cuMemRelease(h))
        return CUDA_ERROR_UNKNOWN;
    p->value = at;
    return CUDA_SUCCESS;
}

static CUresult give_plain(const struct piece *p)
{
    return cuMemFree_v2(p->value);
}

static CUresult give_async(const struct piece *p)
{
    return roll(2) ? cuMemFree_v2(p->value) : cuMemFreeAsync(p->value, stream);
}

static CUresult give_array(const struct piece *p)
{
    return cuArrayDestroy((CUarray)(uintptr_t)p->value);
}

static CUresult give_handle(const struct piece *p)
{
    CUresult err = cuMemUnmap(p->value, p->size);
    return err ? err : cuMemAddressFree(p->value, p->size);
}

static const struct class {
    CUresult (*take)(struct piece *);
    CUresult (*give)(const struct piece *);
} classes[] = {
    {take_plain, give_plain}, {take_managed, give_plain},
    {take_pitch, give_plain}, {take_async, give_async},
    {take_array, give_array}, {take_handle, give_handle},
};

static CUresult take(struct piece *p)
{
    p->class = (int)roll(sizeof classes / sizeof *classes);
    p->size = 1 + roll(8 * MIB);
    return classes[p->class].take(p);
}

static CUresult give(const struct piece *p)
{
    return classes[p->class].give(p);
}

#endif
