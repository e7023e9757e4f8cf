/* hooks.def's CUDA and NVML rows as tables, for the resolver. */
#ifndef VXPU_CU_TABLE_H
#define VXPU_CU_TABLE_H

#include <stddef.h>

struct vx_cu_entry {
    const char *name;
    size_t offset; /* in struct vx_cu_real, or in struct vx_nv_real */
    void *wrapper; /* NULL: used, not wrapped */
};

extern const struct vx_cu_entry vx_cu_entries[], vx_nv_entries[];
extern const unsigned vx_cu_entry_count, vx_nv_entry_count;

#endif
