/* Another's memory in this process: its owner is charged, we only know it. */
#include "cu_memory.h"
#include "session.h"

/* Opened twice it has the same address, and is closed twice. */
static CUresult note_opened(CUresult err, CUdeviceptr at)
{
    struct vx_charge seen;
    if (err == CUDA_SUCCESS && vx_cu_limits() &&
        vx_charge_look(VX_SPACE_MEMORY, at, &seen) && seen.bytes == 0 &&
        vx_charge_retain(VX_SPACE_MEMORY, at))
        return err;
    return vx_cu_note_known(err, VX_SPACE_MEMORY, at);
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle,
                            unsigned int flags)
{
    CUresult err = vx_cu()->cuIpcOpenMemHandle(out, handle, flags);
    return note_opened(err, err ? 0 : *out);
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle handle,
                               unsigned int flags)
{
    CUresult err = vx_cu()->cuIpcOpenMemHandle_v2(out, handle, flags);
    return note_opened(err, err ? 0 : *out);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr at)
{
    struct vx_charge *last = NULL;
    bool known = vx_cu_limits() &&
                 vx_charge_release(VX_SPACE_MEMORY, at, &last);
    CUresult err = vx_cu()->cuIpcCloseMemHandle(at);
    if (err == CUDA_SUCCESS && known)
        vx_charge_drop(last);
    else if (err == CUDA_SUCCESS && vx_cu_limits())
        vx_session_count_unknown_free();
    else if (last)
        vx_charge_bind(last, VX_SPACE_MEMORY, at);
    else if (known)
        vx_charge_retain(VX_SPACE_MEMORY, at);
    return err;
}

CUresult cuImportExternalMemory(CUexternalMemory *out,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *from)
{
    if (vx_cu_mode() == VX_REFUSE)
        return CUDA_ERROR_NO_DEVICE;
    return vx_cu()->cuImportExternalMemory(out, from);
}

CUresult cuDestroyExternalMemory(CUexternalMemory memory)
{
    return vx_cu()->cuDestroyExternalMemory(memory);
}

/* Freed by cuMemFree. */
CUresult cuExternalMemoryGetMappedBuffer(
    CUdeviceptr *out, CUexternalMemory memory,
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *what)
{
    CUresult err = vx_cu()->cuExternalMemoryGetMappedBuffer(out, memory, what);
    return vx_cu_note_known(err, VX_SPACE_MEMORY, err ? 0 : *out);
}

/* Freed by cuMipmappedArrayDestroy. */
CUresult cuExternalMemoryGetMappedMipmappedArray(
    CUmipmappedArray *out, CUexternalMemory memory,
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *what)
{
    CUresult err =
        vx_cu()->cuExternalMemoryGetMappedMipmappedArray(out, memory, what);
    return vx_cu_note_known(err, VX_SPACE_ARRAY, err ? 0 : (uintptr_t)*out);
}
