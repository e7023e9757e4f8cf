#include "cu_span.h"

int64_t vx_span_add(struct vx_span *s, int64_t start, int64_t end,
                    int64_t *moved)
{
    *moved = 0;
    if (end < start)
        return 0;
    int64_t begin = -s->length_ns;
    if (start > 0) { /* a gap: a block of its own */
        s->length_ns = end - start;
        *moved = end;
        return end - start;
    }
    int64_t fresh = 0;
    if (start < begin) { /* before the block, or into it from before */
        fresh += (end < begin ? end : begin) - start;
        if (end >= begin)
            s->length_ns = -start;
    }
    if (end > 0) {
        fresh += end;
        s->length_ns += end;
        *moved = end;
    }
    return fresh;
}
