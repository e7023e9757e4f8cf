/*
 * Between libvxpu.so and the shim libcuda.so.1 that stands in the driver's
 * place: each finds the other's side by these two calls.
 */
#ifndef VXPU_SHIM_H
#define VXPU_SHIM_H

/* libvxpu.so: our wrapper of that driver call, NULL if we wrap none. */
__attribute__((visibility("default"))) void *vxpu_wrapper(const char *name);
/* The shim: a handle on the real driver, NULL without one. Marks a shim. */
__attribute__((visibility("default"))) void *vxpu_shim_real(void);

#define VX_REAL_CUDA "/run/vxpu/lib/real/libcuda.so.1"

#endif
