/*
 * The union of busy intervals: work on two streams at once is one time, not
 * two. Times are ns relative to the end of the last busy block. Pure.
 */
#ifndef VXPU_CU_SPAN_H
#define VXPU_CU_SPAN_H

#include <stdint.h>

/* The last busy block; its end is the zero of what is told next. */
struct vx_span {
    int64_t length_ns;
};

/*
 * Adds [start, end]; returns what of it was not known to be busy. Afterwards
 * the zero is the later end: *moved tells by how much it went on.
 */
int64_t vx_span_add(struct vx_span *s, int64_t start, int64_t end,
                    int64_t *moved);

#endif
