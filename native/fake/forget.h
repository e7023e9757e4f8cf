/* What each part drops in a forked child, the memory lock held. */
#ifndef VXPU_FAKE_FORGET_H
#define VXPU_FAKE_FORGET_H

void vf_registry_forget(void);
void vf_physical_forget(void);
void vf_contexts_forget(void);
void vf_currents_forget(void);
void vf_primaries_forget(void);
void vf_pools_forget(void);
void vf_chunks_forget(void);
void vf_addresses_forget(void);
void vf_multicast_forget(void);
void vf_graphs_forget(void);
/* Called with the first call of a process that can have state to forget. */
void vf_forget_at_fork(void);

#endif
