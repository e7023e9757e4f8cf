/* What oversubscription costs: managed memory that comes back to the card. */
#ifndef VXPU_FAKE_PAGING_H
#define VXPU_FAKE_PAGING_H

#include <stdbool.h>
#include <stdint.h>

struct vf_card;

/*
 * Process `index` gets the card: how long it pages before its work goes on.
 * Lock held.
 */
uint64_t vf_paging_ns(struct vf_card *card, int index);
/* Process `index` got so much of it. */
void vf_paging_done(struct vf_card *card, uint32_t index, uint64_t ns);
/* Another one is paging in: who has managed memory as well comes after it. */
bool vf_paging_waits(struct vf_card *card, uint32_t index);

#endif
