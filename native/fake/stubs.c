/*
 * Every name of the driver exists: what the fake does not model answers "not
 * supported". Weak, so that a model written elsewhere takes the name over.
 */
#include "export.h"

#define VX_SYMBOL(name)                                  \
    VF_EXPORT __attribute__((weak)) int name(void);      \
    int name(void) { return 801; /* NOT_SUPPORTED */ }
#define VX_INTEROP(name) VX_SYMBOL(name)
#include "vxpu/driver_symbols.def"
