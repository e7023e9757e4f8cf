/*
 * The real OpenCL calls behind our wrappers, and how wrappers are found.
 */
#ifndef VXPU_REAL_H
#define VXPU_REAL_H

#include <stdbool.h>

#include "cl_abi.h"

#define VX_EXPORT __attribute__((visibility("default")))

struct vx_real {
#define VX_HOOK(ret, name, index, params) ret(*name) params;
#define VX_USE(ret, name, index, params) ret(*name) params;
#include "hooks.def"
};

#define VX_HOOK(ret, name, index, params) VX_EXPORT ret name params;
#define VX_USE(ret, name, index, params)
#include "hooks.def"

/* Never NULL, nor any member: what no loader has answers an error. */
const struct vx_real *vx_real(void);
/* True once a real OpenCL was found in this process. */
bool vx_real_found(void);
/* Our wrapper of that name, NULL when we wrap no such call. */
void *vx_wrapper_of(const char *name);
/* The real function of an extension that a look-up by name has found. */
void vx_real_learn(const char *name, void *function);
/* Layer mode: take the real calls from the loader's table. */
void vx_real_from_table(void *const *table, unsigned entries);
/* Writes our wrappers at their places in a dispatch table. */
void vx_wrappers_into_table(void **table, unsigned entries);

#endif
