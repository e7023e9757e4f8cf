/*
 * What a process is to NVML: its instance, its cgroup's limit, its account.
 * The owners of processes and of memory call in here; no NVML is needed.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "card.h"
#include "account.h"

void vf_nvml_begin(struct vf_card *card, int index)
{
    struct vf_nvml_process *process = &card->nvml.processes[index];

    memset(process, 0, sizeof *process);
    vf_mig_apply(card, process);
    process->since_ns = vf_now_ns();
    process->limit = vf_limit_of(card, getpid());
}

static struct vf_account account_of(struct vf_card *card, int index,
                                    uint64_t now)
{
    const struct vf_nvml_process *process = &card->nvml.processes[index];

    return (struct vf_account){
        .used = 1,
        .pid = card->processes[index].pid,
        .start_ns = card->processes[index].start_ns,
        .wall_ns = now > process->since_ns ? now - process->since_ns : 0,
        .busy_ns = atomic_load(&card->engine.queues[index].busy_ns),
        .peak_bytes = process->peak_bytes};
}

/* The card was busy with it, whoever it was. */
static void keep_periods(struct vf_card *card, const struct vf_queue *queue)
{
    struct vf_nvml *nvml = &card->nvml;

    _Static_assert(sizeof nvml->gone / sizeof nvml->gone[0] == VF_BUSY_PERIODS,
                   "the same periods");
    for (int i = 0; i < VF_BUSY_PERIODS; i++) {
        uint64_t period = atomic_load(&queue->busy[i].period);

        if (nvml->gone[i].period < period) {
            nvml->gone[i].period = period;
            nvml->gone[i].ns = 0;
        }
        if (nvml->gone[i].period == period)
            nvml->gone[i].ns += atomic_load(&queue->busy[i].ns);
    }
}

void vf_nvml_end(struct vf_card *card, int index)
{
    struct vf_nvml *nvml = &card->nvml;

    keep_periods(card, &card->engine.queues[index]);
    if (vf_knob(card, accounting))
        nvml->accounts[nvml->next_account++ % VF_ACCOUNTS] =
            account_of(card, index, vf_now_ns());
    memset(&nvml->processes[index], 0, sizeof nvml->processes[index]);
}

bool vf_account_find(struct vf_card *card, unsigned pid,
                     struct vf_account *account)
{
    for (int i = 0; i < VF_PROCESSES; i++)
        if (vf_process_pid(card, i) == (pid_t)pid) {
            *account = account_of(card, i, vf_now_ns());
            account->running = 1;
            return true;
        }
    for (int i = 0; i < VF_ACCOUNTS; i++) {
        *account = card->nvml.accounts[i];
        if (account->used && account->pid == (int32_t)pid)
            return true;
    }
    return false;
}

/* Bytes of all processes under one limit. */
uint64_t vf_limit_used(struct vf_card *card, uint32_t limit)
{
    uint64_t used = 0;

    for (int i = 0; i < VF_PROCESSES; i++)
        if (card->nvml.processes[i].limit == limit)
            used += atomic_load(&card->processes[i].memory_bytes);
    return used;
}

bool vf_nvml_room(struct vf_card *card, int index, uint64_t bytes)
{
    struct vf_nvml_process *process = &card->nvml.processes[index];
    uint64_t mine = atomic_load(&card->processes[index].memory_bytes) + bytes;
    uint64_t used, hard;

    if (process->instance) {
        used = vf_visible_used(card, index);
        if (used + bytes > vf_visible_bytes(card, index))
            return false;
    }
    if (process->limit) {
        used = vf_limit_used(card, process->limit);
        hard = card->nvml.limits[process->limit - 1].hard;
        if (bytes > hard || used > hard - bytes)
            return false;
    }
    if (mine > process->peak_bytes)
        process->peak_bytes = mine;
    return true;
}

void vf_checkpoint_wait(struct vf_card *card)
{
    int index = vf_self_index(card);

    while (index >= 0 && atomic_load(&card->nvml.processes[index].state))
        vf_sleep_ns(1000000);
}

/* ---- limits of cgroups ------------------------------------------------- */

/* "/a/b" of "/sys/fs/cgroup/a/b/": below the root, no slash at its end. */
bool vf_limit_path(const char *given, char *path, size_t size)
{
    static const char root[] = "/sys/fs/cgroup";
    size_t length;

    if (!strncmp(given, root, sizeof root - 1))
        given += sizeof root - 1;
    length = strlen(given);
    while (length > 1 && given[length - 1] == '/')
        length--;
    if (*given != '/' || length < 2 || length >= size)
        return false;
    memcpy(path, given, length);
    path[length] = '\0';
    return true;
}

static uint32_t limit_for(struct vf_card *card, const char *cgroup)
{
    uint32_t best = 0;
    size_t longest = 0;

    for (uint32_t i = 0; i < VF_MEMORY_LIMITS; i++) {
        const struct vf_memory_limit *limit = &card->nvml.limits[i];
        size_t length = strlen(limit->path);

        if (limit->used && length > longest &&
            !strncmp(cgroup, limit->path, length) &&
            (!cgroup[length] || cgroup[length] == '/')) {
            best = i + 1;
            longest = length;
        }
    }
    return best;
}

static bool any_limit(const struct vf_card *card)
{
    for (uint32_t i = 0; i < VF_MEMORY_LIMITS; i++)
        if (card->nvml.limits[i].used)
            return true;
    return false;
}

/* A line of /proc/<pid>/cgroup: "0::/a/b", or "6:freezer:/a/b" of v1. */
static uint32_t limit_of_line(struct vf_card *card, char *line)
{
    char *name = strchr(line, ':'), *path, full[512];
    uint32_t found;

    path = name ? strchr(name + 1, ':') : NULL;
    if (!path)
        return 0;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    found = limit_for(card, path);
    if (found || !name[1])
        return found;
    snprintf(full, sizeof full, "/%s%s", name + 1, path);
    return limit_for(card, full);
}

uint32_t vf_limit_of(struct vf_card *card, pid_t pid)
{
    char line[480], name[32];
    uint32_t found = 0;
    FILE *file;

    if (!any_limit(card))
        return 0;
    snprintf(name, sizeof name, "/proc/%d/cgroup", (int)pid);
    file = fopen(name, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = limit_of_line(card, line);
    if (file)
        fclose(file);
    return found;
}

void vf_limit_renew(struct vf_card *card)
{
    for (int i = 0; i < VF_PROCESSES; i++) {
        pid_t pid = vf_process_pid(card, i);

        if (pid > 0)
            card->nvml.processes[i].limit = vf_limit_of(card, pid);
    }
}
