/*
 * Checkpoints: another process's card memory leaves the card and comes back.
 * Its bytes are in its own address space in any case; what moves is the count.
 * Lock, checkpoint, restore, unlock: each from the state before it only.
 */
#include <string.h>

#include "parts.h"

/* A process on every card that it uses. */
struct target {
    int count;
    struct {
        struct vf_card *card;
        int index;
    } part[VF_CARDS];
};

static struct vf_nvml_process *part_of(const struct target *target, int i)
{
    return &target->part[i].card->nvml.processes[target->part[i].index];
}

static CUresult find(const char *call, int pid, struct target *target)
{
    CUresult code;

    if (!vf_initialised())
        return CUDA_ERROR_NOT_INITIALIZED;
    if (vf_inject(call, &code))
        return code;
    target->count = 0;
    for (int i = 0; i < vf_count() && pid > 0; i++)
        for (int j = 0; j < VF_PROCESSES; j++)
            if (vf_process_pid(vf_card(i), j) == pid) {
                target->part[target->count].card = vf_card(i);
                target->part[target->count++].index = j;
                break;
            }
    return target->count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUprocessState state_of(const struct target *target)
{
    return (CUprocessState)atomic_load(&part_of(target, 0)->state);
}

static void set_state(const struct target *target, CUprocessState state)
{
    for (int i = 0; i < target->count; i++)
        atomic_store(&part_of(target, i)->state, (uint32_t)state);
}

static bool is_zero(const void *bytes, size_t size)
{
    static const char zero[64];

    return !memcmp(bytes, zero, size);
}

VF_EXPORT CUresult cuCheckpointProcessGetState(int pid, CUprocessState *state)
{
    struct target target;
    CUresult code = find(__func__, pid, &target);

    if (code)
        return code;
    if (!state)
        return CUDA_ERROR_INVALID_VALUE;
    *state = state_of(&target);
    return CUDA_SUCCESS;
}

/* No thread of its own restores here: the main thread is named. */
VF_EXPORT CUresult cuCheckpointProcessGetRestoreThreadId(int pid, int *tid)
{
    struct target target;
    CUresult code = find(__func__, pid, &target);

    if (code)
        return code;
    if (!tid)
        return CUDA_ERROR_INVALID_VALUE;
    *tid = pid;
    return CUDA_SUCCESS;
}

/* ---- locking ----------------------------------------------------------- */

static bool is_idle(const struct target *target)
{
    for (int i = 0; i < target->count; i++) {
        struct vf_card *card = target->part[i].card;
        struct vf_queue *queue = &card->engine.queues[target->part[i].index];

        vf_advance(card);
        if (atomic_load(&queue->head) != atomic_load(&queue->tail))
            return false;
    }
    return true;
}

/* New calls wait from here on; what was submitted is let through. */
VF_EXPORT CUresult cuCheckpointProcessLock(int pid, CUcheckpointLockArgs *args)
{
    struct target target;
    CUresult code = find(__func__, pid, &target);
    uint64_t end = 0;

    if (code)
        return code;
    if (args && (args->reserved0 ||
                 !is_zero(args->reserved1, sizeof args->reserved1)))
        return CUDA_ERROR_INVALID_VALUE;
    if (state_of(&target) != CU_PROCESS_STATE_RUNNING)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (args && args->timeoutMs)
        end = vf_now_ns() + args->timeoutMs * 1000000ULL;
    set_state(&target, CU_PROCESS_STATE_LOCKED);
    while (!is_idle(&target)) {
        if (end && vf_now_ns() >= end) {
            set_state(&target, CU_PROCESS_STATE_RUNNING);
            return CUDA_ERROR_NOT_READY;
        }
        vf_sleep_ns(1000000);
    }
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuCheckpointProcessUnlock(int pid,
                                             CUcheckpointUnlockArgs *args)
{
    struct target target;
    CUresult code = find(__func__, pid, &target);

    if (code)
        return code;
    if (args && !is_zero(args->reserved, sizeof args->reserved))
        return CUDA_ERROR_INVALID_VALUE;
    if (state_of(&target) != CU_PROCESS_STATE_LOCKED)
        return CUDA_ERROR_ILLEGAL_STATE;
    set_state(&target, CU_PROCESS_STATE_RUNNING);
    return CUDA_SUCCESS;
}

/* ---- away and back ----------------------------------------------------- */

static bool shares(const struct target *target)
{
    for (int i = 0; i < target->count; i++)
        if (atomic_load(&part_of(target, i)->shared) &&
            !vf_knob(target->part[i].card, checkpoint_ipc))
            return true;
    return false;
}

static void move_away(struct vf_card *card, int index)
{
    struct vf_process *process = &card->processes[index];
    uint64_t bytes;

    vf_lock(card);
    bytes = atomic_load(&process->memory_bytes);
    card->nvml.processes[index].away_bytes = bytes;
    process->memory_bytes -= bytes;
    card->memory_used -= bytes;
    vf_unlock(card);
}

VF_EXPORT CUresult cuCheckpointProcessCheckpoint(
    int pid, CUcheckpointCheckpointArgs *args)
{
    struct target target;
    CUresult code = find(__func__, pid, &target);

    if (code)
        return code;
    if (args && args->customStorageInfo_out)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (state_of(&target) != CU_PROCESS_STATE_LOCKED)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (shares(&target))
        return CUDA_ERROR_NOT_SUPPORTED;
    for (int i = 0; i < target.count; i++)
        move_away(target.part[i].card, target.part[i].index);
    set_state(&target, CU_PROCESS_STATE_CHECKPOINTED);
    return CUDA_SUCCESS;
}

static bool move_back(struct vf_card *card, int index)
{
    struct vf_process *process = &card->processes[index];
    uint64_t *away = &card->nvml.processes[index].away_bytes;
    bool room;

    vf_reap(card);
    vf_lock(card);
    room = atomic_load(&card->memory_used) + *away <=
               card->identity.memory_bytes &&
           vf_nvml_room(card, index, *away);
    if (room) {
        process->memory_bytes += *away;
        card->memory_used += *away;
        *away = 0;
    }
    vf_unlock(card);
    return room;
}

/* All cards or none: what came back goes away again. */
VF_EXPORT CUresult cuCheckpointProcessRestore(int pid,
                                              CUcheckpointRestoreArgs *args)
{
    struct target target;
    CUresult code = find(__func__, pid, &target);
    int back = 0;

    if (code)
        return code;
    if (args && (args->customStorageInfo_out || args->gpuPairsCount))
        return CUDA_ERROR_NOT_SUPPORTED;
    if (state_of(&target) != CU_PROCESS_STATE_CHECKPOINTED)
        return CUDA_ERROR_ILLEGAL_STATE;
    while (back < target.count &&
           move_back(target.part[back].card, target.part[back].index))
        back++;
    if (back < target.count) {
        while (back-- > 0)
            move_away(target.part[back].card, target.part[back].index);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    set_state(&target, CU_PROCESS_STATE_LOCKED);
    return CUDA_SUCCESS;
}

/* ---- in the process itself --------------------------------------------- */

void vf_checkpoint_shares(int more)
{
    for (int i = 0; i < vf_count(); i++) {
        struct vf_card *card = vf_card(i);
        int index = vf_self_index(card);

        if (index >= 0)
            atomic_fetch_add(&card->nvml.processes[index].shared, more);
    }
}

void vf_checkpoint_gate(void)
{
    for (int i = 0; i < vf_count(); i++)
        vf_checkpoint_wait(vf_card(i));
}
