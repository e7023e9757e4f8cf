/* Modules, libraries, and the functions in them. */
#ifndef VXPU_FAKE_MODULE_H
#define VXPU_FAKE_MODULE_H

#include "stream.h"

#define VF_FUNCTION_MAGIC 0x66756e63U
#define VF_KERNEL_MAGIC 0x6b65726eU
#define VF_FUNCTION_PARAMS 4096 /* bytes, of the legacy calls */

enum vf_function_kind {
    VF_FUNCTION_SPIN,  /* first parameter: u64 nanoseconds */
    VF_FUNCTION_FIXED, /* spin_<n>us, spin_<n>ms, or any other name */
    VF_FUNCTION_FILL   /* (u64 to, u32 value, u64 count) */
};

/* Also what a CUkernel points to: `is_kernel`, then with a function inside. */
struct CUfunction_st {
    uint32_t magic;
    enum vf_function_kind kind;
    uint64_t fixed_ns;      /* 0: the knob kernel_ns */
    char name[256];
    CUmodule module;
    struct CUkernel_st *kernel;
    struct CUfunction_st *next;
    int max_dynamic_shared, carveout;
    int block[3];           /* legacy calls */
    unsigned shared_bytes, params_size;
    unsigned char params[VF_FUNCTION_PARAMS];
};

struct CUkernel_st {
    uint32_t magic;
    CUlibrary library;
    struct CUfunction_st *function;
};

/* The function behind a CUfunction or a CUkernel; NULL for any other. */
struct CUfunction_st *vf_function(CUfunction handle);

/* A launch: where, how large, with what. */
struct vf_launch {
    CUfunction function;
    unsigned grid[3], block[3], shared_bytes;
    void **params, **extra;
};
/* The limits that a card checks. */
CUresult vf_launch_check(const struct vf_launch *launch);
/* What the simulated kernels read of their parameters. */
struct vf_kernel_args {
    uint64_t word[4];
};
/* false: a parameter is missing. */
bool vf_kernel_args(const struct vf_launch *launch,
                    struct vf_kernel_args *args);
/* What it costs and does; the command points at args. */
void vf_kernel_command(const struct vf_card *card,
                       const struct CUfunction_st *function,
                       struct vf_kernel_args *args,
                       struct vf_command *command);

#endif
