/* What managed.c and prefetch.c share. */
#ifndef VXPU_FAKE_MANAGED_H
#define VXPU_FAKE_MANAGED_H

#include "memory.h"

bool vf_location_valid(const CUmemLocation *location);
/* The place that the calls from before locations name by a device. */
CUmemLocation vf_old_location(CUdevice device);
/* Moves the managed allocation around `at`. */
CUresult vf_prefetch(uint64_t at, uint64_t count, CUmemLocation to);

#endif
