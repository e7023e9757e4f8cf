/*
 * Every name of NVML exists: what the fake does not model answers "not
 * supported". Weak, so that a model written elsewhere takes the name over.
 * Declared without the header: a stub has no parameters of its own.
 */
#include <stdbool.h>

#include "export.h"

bool nv_ready(void);

static int not_modelled(void)
{
    return nv_ready() ? 3 /* NOT_SUPPORTED */ : 1 /* UNINITIALIZED */;
}

#define VF_NVML(name)                                \
    VF_EXPORT __attribute__((weak)) int name(void);  \
    int name(void) { return not_modelled(); }
#include "nvml_symbols.def"
