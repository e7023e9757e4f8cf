/*
 * Streams that capture. While one does, nothing of ours may touch it: no
 * event, no query, no wait; and our own calls elsewhere must not count as
 * unsafe ones, which would invalidate the capture.
 */
#ifndef VXPU_CU_CAPTURE_H
#define VXPU_CU_CAPTURE_H

#include <stdbool.h>

#include "vxpu/cuda_abi.h"

/* Some stream of this process captures, as far as we have seen. */
bool vx_capture_any(void);
/* This one does, or can't be asked because another does. */
bool vx_capture_is_on(CUstream stream);
/* Around our own calls; *mode is the thread's, kept by the caller. */
void vx_capture_relax(int *mode);
void vx_capture_restore(const int *mode);
/* cuStreamEndCapture came back, with whatever. */
void vx_capture_ended(CUstream stream);
void vx_capture_after_fork(void);

#endif
