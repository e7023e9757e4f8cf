/*
 * What goes from process to process. A shareable handle is the descriptor of
 * a memory file whose name says what it is and of which card:
 * "vxpu-fake-<kind>-<UUID in hex>".
 */
#ifndef VXPU_FAKE_SHARE_H
#define VXPU_FAKE_SHARE_H

#include "memory.h"

/* A new memory file of that size, close-on-exec; -1 with no memory. */
int vf_share_make(const char *kind, CUdevice device, uint64_t bytes);
/* True when fd is such a file: its device here (-1 not visible) and size. */
bool vf_share_read(int fd, const char *kind, CUdevice *device, uint64_t *bytes);
/* The CUdevice of a card by its UUID; -1 when it is not visible. */
CUdevice vf_device_of_uuid(const uint8_t uuid[16]);

#endif
