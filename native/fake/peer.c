/* Peer access: every pair of simulated cards of one folder has it. */
#include "memory.h"

VF_EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice device,
                                         CUdevice peer)
{
    CUresult r = vf_enter_device("cuDeviceCanAccessPeer", device);
    if (r)
        return r;
    if (!can)
        return CUDA_ERROR_INVALID_VALUE;
    if (!vf_device_card(peer))
        return CUDA_ERROR_INVALID_DEVICE;
    *can = device != peer;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuDeviceGetP2PAttribute(int *value,
                                           CUdevice_P2PAttribute attribute,
                                           CUdevice from, CUdevice to)
{
    CUresult r = vf_enter_device("cuDeviceGetP2PAttribute", from);
    if (r)
        return r;
    if (!value || attribute < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
        attribute > CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    if (!vf_device_card(to) || from == to)
        return CUDA_ERROR_INVALID_DEVICE;
    *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED ||
             attribute == CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED;
    return CUDA_SUCCESS;
}

static CUresult change(const char *call, CUcontext peer, bool on)
{
    CUcontext context, other;
    CUresult r = vf_enter(call, &context);
    if (r)
        return r;
    if (!peer || !vf_context_card(peer))
        return CUDA_ERROR_INVALID_CONTEXT;
    other = peer;
    if (on && other->device == context->device)
        return CUDA_ERROR_INVALID_DEVICE;
    uint64_t bit = 1ULL << other->device;
    if (on && (context->peers & bit))
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    if (!on && !(context->peers & bit))
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    context->peers ^= bit;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    return flags ? CUDA_ERROR_INVALID_VALUE
                 : change("cuCtxEnablePeerAccess", peer, true);
}

VF_EXPORT CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
    return change("cuCtxDisablePeerAccess", peer, false);
}
