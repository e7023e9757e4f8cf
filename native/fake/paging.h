/* What oversubscription costs: managed memory that comes back to the card. */
#ifndef VXPU_FAKE_PAGING_H
#define VXPU_FAKE_PAGING_H

#include <stdint.h>

struct vf_card;

/*
 * Process `index` gets the card: how long it pages before its work goes on.
 * Lock held.
 */
uint64_t vf_paging_ns(struct vf_card *card, int index);

#endif
