/*
 * A forked child starts anew: what the parent had is not its own, and its
 * bytes are the parent's. The lock is held across the fork so that the child
 * finds whole trees, which it forgets (address space and nodes are left).
 */
#include <pthread.h>

#include "forget.h"
#include "memory.h"

static void in_child(void)
{
    vf_registry_forget();
    vf_physical_forget();
    vf_contexts_forget();
    vf_currents_forget();
    vf_primaries_forget();
    vf_pools_forget();
    vf_chunks_forget();
    vf_addresses_forget();
    vf_multicast_forget();
    vf_graphs_forget();
    vf_memory_unlock();
}

static void arrange(void)
{
    pthread_atfork(vf_memory_lock, vf_memory_unlock, in_child);
}

void vf_forget_at_fork(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, arrange);
}
