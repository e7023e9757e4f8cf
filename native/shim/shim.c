/*
 * The shim: a libcuda.so.1 with all names of the driver, mounted over the real
 * one. It catches what preloading cannot: a plugin opened with RTLD_DEEPBIND,
 * a namespace of dlmopen. Each name is a thunk that jumps to libvxpu's wrapper
 * or to the real driver's function; where to is found at its first call.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "vxpu/cuda_abi.h"
#include "vxpu/shim.h"

#ifndef __x86_64__
#error "The shim's thunks are written for x86-64; preloading works anywhere."
#endif

struct slot {
    void *_Atomic target;
    const char *name;
};

void *vxpu_shim_bind(struct slot *slot);

/* Keeps every register that may carry an argument. */
__asm__(".pushsection .text\n"
        "vxpu_shim_enter:\n"
        "    endbr64\n"
        "    push %rdi\n    push %rsi\n    push %rdx\n    push %rcx\n"
        "    push %r8\n    push %r9\n    push %rax\n"
        "    sub $128, %rsp\n"
        "    movups %xmm0, (%rsp)\n    movups %xmm1, 16(%rsp)\n"
        "    movups %xmm2, 32(%rsp)\n    movups %xmm3, 48(%rsp)\n"
        "    movups %xmm4, 64(%rsp)\n    movups %xmm5, 80(%rsp)\n"
        "    movups %xmm6, 96(%rsp)\n    movups %xmm7, 112(%rsp)\n"
        "    mov %r11, %rdi\n"
        "    call vxpu_shim_bind\n"
        "    mov %rax, %r11\n"
        "    movups (%rsp), %xmm0\n    movups 16(%rsp), %xmm1\n"
        "    movups 32(%rsp), %xmm2\n    movups 48(%rsp), %xmm3\n"
        "    movups 64(%rsp), %xmm4\n    movups 80(%rsp), %xmm5\n"
        "    movups 96(%rsp), %xmm6\n    movups 112(%rsp), %xmm7\n"
        "    add $128, %rsp\n"
        "    pop %rax\n    pop %r9\n    pop %r8\n"
        "    pop %rcx\n    pop %rdx\n    pop %rsi\n    pop %rdi\n"
        "    jmp *%r11\n"
        ".popsection\n");

/* A slot first leads back into its own thunk, and from there to the binder. */
#define VX_SYMBOL(name)                                           \
    __asm__(".pushsection .text\n"                                \
            ".globl " #name "\n.type " #name ", @function\n"      \
            #name ":\n    endbr64\n"                              \
            "    jmp *.Lslot_" #name "(%rip)\n"                   \
            ".Lbind_" #name ":\n    endbr64\n"                    \
            "    lea .Lslot_" #name "(%rip), %r11\n"              \
            "    jmp vxpu_shim_enter\n"                           \
            ".size " #name ", . - " #name "\n.popsection\n"       \
            ".pushsection .data\n.balign 16\n"                    \
            ".Lslot_" #name ": .quad .Lbind_" #name ", .Lname_" #name "\n" \
            ".popsection\n"                                       \
            ".pushsection .rodata\n"                              \
            ".Lname_" #name ": .asciz \"" #name "\"\n.popsection\n");
#define VX_INTEROP(name) VX_SYMBOL(name)
#include "vxpu/driver_symbols.def"

static const char *real_path(void)
{
#ifdef VX_TESTING
    const char *path = getenv("VXPU_REAL_CUDA");
    if (path)
        return path;
#endif
    return VX_REAL_CUDA;
}

void *vxpu_shim_real(void)
{
    static void *_Atomic cached;
    void *handle = atomic_load(&cached);
    if (handle)
        return handle;
    handle = dlopen(real_path(), RTLD_LAZY | RTLD_LOCAL);
    /* A shim in the real one's place would call itself for ever. */
    if (handle && dlsym(handle, "vxpu_shim_real"))
        handle = NULL;
    atomic_store(&cached, handle);
    return handle;
}

static int no_driver(void)
{
    return CUDA_ERROR_NO_DEVICE;
}

static int not_in_driver(void)
{
    return CUDA_ERROR_NOT_FOUND;
}

__attribute__((visibility("hidden"))) void *vxpu_shim_bind(struct slot *slot)
{
    void *wrapper = vxpu_wrapper(slot->name);
    void *real = wrapper ? NULL : vxpu_shim_real();
    void *f = wrapper ? wrapper : real ? dlsym(real, slot->name) : NULL;
    if (f)
        atomic_store(&slot->target, f);
    return f ? f : real ? (void *)not_in_driver : (void *)no_driver;
}
