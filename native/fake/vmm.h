/* Physical memory behind cuMemCreate's handles. */
#ifndef VXPU_FAKE_VMM_H
#define VXPU_FAKE_VMM_H

#include "share.h"

struct vf_chunk {
    CUmemAllocationProp prop;
    uint64_t size, taken; /* taken: bytes of the card */
    CUdevice device;      /* -1: host memory */
    unsigned handles;     /* not yet released */
    unsigned uses;        /* mappings and multicast bindings */
    int fd;               /* of its own when it can be exported, else -1 */
    bool shared;          /* with other processes */
    uint64_t at;          /* offset in the file that holds it */
    uint64_t team;        /* multicast: bit per device that joined */
    unsigned team_size;   /* multicast: how many are to join, else 0 */
};

/* Lock held. NULL: not a live handle. */
struct vf_chunk *vf_chunk_of(CUmemGenericAllocationHandle handle);
/* One handle or use less was counted by the caller: the last one frees. */
void vf_chunk_settle(struct vf_chunk *chunk);
/* A chunk of `size` bytes without any of the card; NULL: no host memory. */
struct vf_chunk *vf_chunk_new(uint64_t size, CUdevice device, int fd);
/* The file that holds it, for mmap. */
int vf_chunk_file(const struct vf_chunk *chunk);

#endif
