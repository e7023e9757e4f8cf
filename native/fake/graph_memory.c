/*
 * Memory of graphs. Adding an allocation node fixes an address and takes
 * nothing; a launch takes the card's bytes in large pages. What is freed stays
 * reserved for the next launch of any graph on that card, until
 * cuDeviceGraphMemTrim: all as a driver has it.
 * A block's range counts its owners in `uses` and holds memory while
 * `flags` is HELD.
 */
#include <string.h>
#include <sys/mman.h>

#include "forget.h"
#include "memory.h"

enum { HELD = 1 };

static struct {
    uint64_t used, used_high, reserved, reserved_high;
} graphs[VF_CARDS];

static uint64_t page_bytes(const struct vf_range *range)
{
    return vf_round_up(range->size, VF_PAGE_BYTES);
}

CUresult vf_graph_memory_add(struct vf_card *card,
                             CUDA_MEM_ALLOC_NODE_PARAMS *node)
{
    const CUmemPoolProps *props = &node->poolProps;
    struct vf_range range = {.size = node->bytesize, .uses = 1,
                             .kind = VF_RANGE_GRAPH};
    CUresult r = CUDA_SUCCESS;
    range.device = vf_card_device(card);
    if (node->bytesize == 0 || node->bytesize > UINT64_MAX / 4 ||
        props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        props->handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
        props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    if (vf_device_card(props->location.id))
        range.device = props->location.id;
    range.mapped = page_bytes(&range);
    vf_memory_lock();
    void *at = vf_map(range.mapped, VF_PAGE_BYTES, PROT_READ | PROT_WRITE);
    range.base = (uintptr_t)at;
    if (!at || !vf_range_add(&range))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    vf_memory_unlock();
    if (r == CUDA_SUCCESS)
        node->dptr = range.base;
    return r;
}

/* Lock held. */
static CUresult hold(struct vf_range *range)
{
    uint64_t used = graphs[range->device].used + page_bytes(range);
    uint64_t reserved = graphs[range->device].reserved;
    if (used > reserved && !vf_take(range->device, used - reserved))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (used > reserved)
        graphs[range->device].reserved = used;
    graphs[range->device].used = used;
    range->flags = HELD;
    if (used > graphs[range->device].used_high)
        graphs[range->device].used_high = used;
    if (graphs[range->device].reserved > graphs[range->device].reserved_high)
        graphs[range->device].reserved_high = graphs[range->device].reserved;
    return CUDA_SUCCESS;
}

static struct vf_range *block_at(uint64_t at)
{
    struct vf_range *range = vf_range_from(at);
    return range && range->kind == VF_RANGE_GRAPH ? range : NULL;
}

CUresult vf_graph_memory_take(struct vf_card *card, CUdeviceptr at)
{
    CUresult r = CUDA_ERROR_INVALID_VALUE;
    (void)card;
    vf_memory_lock();
    struct vf_range *range = block_at(at);
    if (range)
        r = range->flags == HELD ? CUDA_SUCCESS : hold(range);
    vf_memory_unlock();
    return r;
}

void vf_graph_block_free(struct vf_range *range)
{
    if (range->flags == HELD)
        graphs[range->device].used -= page_bytes(range);
    range->flags = 0;
    if (range->uses == 0)
        vf_range_drop(range);
}

void vf_graph_memory_free(struct vf_card *card, CUdeviceptr at)
{
    (void)card;
    vf_memory_lock();
    struct vf_range *range = block_at(at);
    if (range)
        vf_graph_block_free(range);
    vf_memory_unlock();
}

void vf_graph_memory_share(struct vf_card *card, CUdeviceptr at)
{
    (void)card;
    vf_memory_lock();
    struct vf_range *range = block_at(at);
    if (range)
        range->uses++;
    vf_memory_unlock();
}

void vf_graph_memory_drop(struct vf_card *card, CUdeviceptr at)
{
    (void)card;
    vf_memory_lock();
    struct vf_range *range = block_at(at);
    /* What the program has not freed yet stays its own, with no graph. */
    if (range && range->uses > 0 && --range->uses == 0 && range->flags != HELD)
        vf_range_drop(range);
    vf_memory_unlock();
}

static void trim(CUdevice device)
{
    vf_give(device, graphs[device].reserved - graphs[device].used);
    graphs[device].reserved = graphs[device].used;
}

void vf_graphs_empty(CUdevice device)
{
    graphs[device].used = 0;
    trim(device);
}

void vf_graphs_forget(void)
{
    memset(graphs, 0, sizeof graphs);
}

VF_EXPORT CUresult cuDeviceGraphMemTrim(CUdevice device)
{
    CUresult r = vf_enter_device("cuDeviceGraphMemTrim", device);
    if (r)
        return r;
    vf_memory_lock();
    trim(device);
    vf_memory_unlock();
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuDeviceGetGraphMemAttribute(CUdevice device,
                                                CUgraphMem_attribute attribute,
                                                void *out)
{
    CUresult r = vf_enter_device("cuDeviceGetGraphMemAttribute", device);
    if (r)
        return r;
    if (!out || attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        return CUDA_ERROR_INVALID_VALUE;
    vf_memory_lock();
    const uint64_t values[] = {graphs[device].used, graphs[device].used_high,
                               graphs[device].reserved,
                               graphs[device].reserved_high};
    vf_memory_unlock();
    *(cuuint64_t *)out = values[attribute];
    return CUDA_SUCCESS;
}

/* Only the high marks can be set, and only back to what is. */
VF_EXPORT CUresult cuDeviceSetGraphMemAttribute(CUdevice device,
                                                CUgraphMem_attribute attribute,
                                                void *value)
{
    CUresult r = vf_enter_device("cuDeviceSetGraphMemAttribute", device);
    if (r)
        return r;
    if (!value || *(cuuint64_t *)value != 0)
        return CUDA_ERROR_INVALID_VALUE;
    vf_memory_lock();
    if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
        graphs[device].used_high = graphs[device].used;
    else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        graphs[device].reserved_high = graphs[device].reserved;
    else
        r = CUDA_ERROR_INVALID_VALUE;
    vf_memory_unlock();
    return r;
}
