/* What the OpenCL wrappers share. */
#ifndef VXPU_LAYER_H
#define VXPU_LAYER_H

#include <stdbool.h>

#include "cl_abi.h"
#include "real.h"
#include "session.h"

enum vx_mode vx_layer_mode(void);

/* cl_device.c: the one device of the slice. False when there is none. */
bool vx_layer_device(cl_platform_id *platform, cl_device_id *device);
/* Largest single allocation: <= the device's own and <= the limit. */
uint64_t vx_layer_max_alloc(void);

/* Bytes an image takes, as far as its description tells. */
uint64_t vx_image_bytes(const cl_image_format *format,
                        const cl_image_desc *desc);

#endif
