/* Processes, their accounts and their cgroups' limits. The lock is held. */
#ifndef VXPU_FAKE_ACCOUNT_H
#define VXPU_FAKE_ACCOUNT_H

#include "card.h"

/* By the pid that the caller sees; also of a process that ended. */
bool vf_account_find(struct vf_card *card, unsigned pid,
                     struct vf_account *account);
/* 1 + index of the innermost limit on that process's cgroup, 0 for none. */
uint32_t vf_limit_of(struct vf_card *card, pid_t pid);
uint64_t vf_limit_used(struct vf_card *card, uint32_t limit);
/* A limit came or went: look at each living process again. */
void vf_limit_renew(struct vf_card *card);
bool vf_limit_path(const char *given, char *path, size_t size);

#endif
