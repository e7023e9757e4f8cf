/*
 * The real CUDA and NVML calls behind our wrappers, and what the wrappers
 * share. Each call of hooks.def is a member under its own name.
 */
#ifndef VXPU_CU_REAL_H
#define VXPU_CU_REAL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "real.h"
#include "session.h"
#include "vxpu/cuda_abi.h"
#include "vxpu/nvml_abi.h"

struct vx_cu_real {
#define VX_CU(class, name, params) CUresult(*name) params;
#define VX_CU_USE(name, params) CUresult(*name) params;
#include "hooks.def"
};

struct vx_nv_real {
#define VX_NV(class, name, params) nvmlReturn_t(*name) params;
#define VX_NV_USE(name, params) nvmlReturn_t(*name) params;
#include "hooks.def"
};

/* The wrappers, exported by name. */
#define VX_CU(class, name, params) VX_EXPORT CUresult name params;
#define VX_NV(class, name, params) VX_EXPORT nvmlReturn_t name params;
#include "hooks.def"

/* Not NULL once the driver (NVML) was found; then it never changes. */
extern const struct vx_cu_real *_Atomic vx_cu_found;
extern const struct vx_nv_real *_Atomic vx_nv_found;
/* Looks for it again. Never NULL: without a driver all calls are stubs. */
const struct vx_cu_real *vx_cu_look(void);
const struct vx_nv_real *vx_nv_look(void);

/*
 * The real calls; no member is NULL. What the driver lacks answers
 * CUDA_ERROR_NOT_FOUND (NVML_ERROR_FUNCTION_NOT_FOUND).
 */
static inline const struct vx_cu_real *vx_cu(void)
{
    const struct vx_cu_real *r =
        atomic_load_explicit(&vx_cu_found, memory_order_acquire);
    return __builtin_expect(r != NULL, 1) ? r : vx_cu_look();
}

static inline const struct vx_nv_real *vx_nv(void)
{
    const struct vx_nv_real *r =
        atomic_load_explicit(&vx_nv_found, memory_order_acquire);
    return __builtin_expect(r != NULL, 1) ? r : vx_nv_look();
}

/* What absent calls answer. */
CUresult vx_cu_absent(void);
nvmlReturn_t vx_nv_absent(void);
/* True when the driver (NVML) has the call of that name. */
#define VX_CU_HAS(name) ((void *)vx_cu()->name != (void *)vx_cu_absent)
#define VX_NV_HAS(name) ((void *)vx_nv()->name != (void *)vx_nv_absent)

/* How this process's CUDA calls are treated; opens the session at need. */
enum vx_mode vx_cu_mode(void);

/* What the process's look-ups of CUDA and NVML names end at. */
enum vx_name {
    VX_NAME_OTHER,
    VX_NAME_HOOKED, /* a row of hooks.def that we wrap */
    VX_NAME_VARIANT /* not one, but an ABI variant of one */
};
enum vx_name vx_cu_name(const char *name);
/* Our wrapper of exactly that name, NULL if we have none. */
void *vx_cu_wrapper_of(const char *name);
/* Our wrapper of the real function at that address, NULL if we have none. */
void *vx_cu_wrapper_at(const void *real);
/* True for code of a driver or an NVML, whatever its file is called. */
bool vx_cu_is_driver(const void *code);
/* Takes the library of that code as the driver (NVML) if none is known yet. */
void vx_cu_look_at(const void *code);
/*
 * True for code that our wrappers call: the driver, NVML, and an interposer
 * between us and them. What it looks up must never be ours again.
 */
bool vx_cu_behind_us(const void *code);
/* Counts a variant that we do not know; true: it may be handed out. */
bool vx_cu_admit_variant(const char *name);

#endif
