/* What the simulated driver reads of a program image. */
#ifndef VXPU_FAKE_IMAGE_H
#define VXPU_FAKE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PTX text is read; a binary image is taken to have every function. */
enum vf_image { VF_IMAGE_NONE, VF_IMAGE_PTX, VF_IMAGE_BINARY };

enum vf_image vf_image_kind(const void *image);
/* Calls visit for each `.entry`; stops when it answers false. */
void vf_image_entries(const char *ptx,
                      bool (*visit)(void *arg, const char *name, size_t length),
                      void *arg);
/* The bytes of each `.global` variable; visit as above. */
void vf_image_globals(const char *ptx,
                      bool (*visit)(void *arg, const char *name, size_t length,
                                    uint64_t bytes),
                      void *arg);

#endif
