/*
 * Limits of a context. What the defaults need is part of context_mib; a
 * limit above its default takes the difference at once (a real driver takes
 * some of it at the next module load): the heap and the printf buffer as they
 * are, the stack times all threads that the card can hold. Lowering it gives
 * the difference back.
 */
#include "memory.h"

#define THREADS_PER_SM 2048ULL
#define STACK_BYTES_MAX (512 * VF_KIB)
#define CACHE_BYTES_MAX (32 * VF_MIB)

static const uint64_t default_limit[CU_LIMIT_MAX] = {
    [CU_LIMIT_STACK_SIZE] = VF_KIB,
    [CU_LIMIT_PRINTF_FIFO_SIZE] = 7 * VF_MIB,
    [CU_LIMIT_MALLOC_HEAP_SIZE] = 8 * VF_MIB,
    [CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
    [CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
};

void vf_limits_default(CUcontext context)
{
    for (int i = 0; i < CU_LIMIT_MAX; i++)
        context->limit[i] = default_limit[i];
}

/* Bytes of the card that a limit takes above its default. */
static uint64_t limit_bytes(CUcontext context, int limit, uint64_t value)
{
    uint64_t each = 1;
    if (value <= default_limit[limit])
        return 0;
    if (limit == CU_LIMIT_STACK_SIZE)
        each = vf_device_sms(context->device) * THREADS_PER_SM;
    else if (limit != CU_LIMIT_PRINTF_FIFO_SIZE &&
             limit != CU_LIMIT_MALLOC_HEAP_SIZE)
        return 0;
    uint64_t more = value - default_limit[limit];
    if (more > UINT64_MAX / 2 / each)
        return UINT64_MAX / 2;
    return vf_round_up(more * each, VF_PAGE_BYTES);
}

/* Lock held. */
static CUresult set_limit(CUcontext context, CUlimit limit, uint64_t value)
{
    uint64_t before = limit_bytes(context, limit, context->limit[limit]);
    uint64_t after = limit_bytes(context, limit, value);
    if (after > before && !vf_take(context->device, after - before))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (after < before)
        vf_give(context->device, before - after);
    context->limit_bytes += after - before;
    context->limit[limit] = value;
    return CUDA_SUCCESS;
}

/* What the driver answers for a limit that it can't or won't set. */
static CUresult check_limit(CUlimit limit, uint64_t value)
{
    switch (limit) {
    case CU_LIMIT_STACK_SIZE:
        return value > STACK_BYTES_MAX ? CUDA_ERROR_INVALID_VALUE
                                       : CUDA_SUCCESS;
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
        return value > 128 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
        return value > CACHE_BYTES_MAX ? CUDA_ERROR_INVALID_VALUE
                                       : CUDA_SUCCESS;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
    case CU_LIMIT_MALLOC_HEAP_SIZE:
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    }
}

VF_EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    CUcontext context;
    CUresult r = vf_enter("cuCtxSetLimit", &context);
    if (r == CUDA_SUCCESS)
        r = check_limit(limit, value);
    if (r)
        return r;
    vf_memory_lock();
    r = set_limit(context, limit, value);
    vf_memory_unlock();
    return r;
}

VF_EXPORT CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
    CUcontext context;
    CUresult r = vf_enter("cuCtxGetLimit", &context);
    if (r)
        return r;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    r = check_limit(limit, 0);
    if (r)
        return r;
    *value = context->limit[limit];
    return CUDA_SUCCESS;
}
