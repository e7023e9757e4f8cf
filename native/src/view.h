/* What a slice is shown of a card's memory. */
#ifndef VXPU_VIEW_H
#define VXPU_VIEW_H

#include <stdint.h>

struct vx_view {
    uint64_t total, free;
};

/* Of region device `device`, out of what the card itself has. */
struct vx_view vx_view_of(int device, uint64_t physical_total,
                          uint64_t physical_free);

#endif
