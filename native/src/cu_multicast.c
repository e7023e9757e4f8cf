/*
 * Multicast objects own no memory: what is bound to one is charged where it
 * was made, and stays so until the object is gone.
 */
#include "cu_memory.h"

CUresult cuMulticastCreate(CUmemGenericAllocationHandle *out,
                           const CUmulticastObjectProp *prop)
{
    if (vx_cu_mode() == VX_REFUSE)
        return CUDA_ERROR_NO_DEVICE;
    struct vx_charge *c = NULL;
    if (vx_cu_limits() && (c = vx_charge_known()) &&
        !(c->backing = vx_charge_known())) {
        vx_charge_drop(c);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult err = vx_cu()->cuMulticastCreate(out, prop);
    return vx_cu_settle(c, err, VX_SPACE_HANDLE, err ? 0 : *out);
}

/* A card outside the slice would carry the slice's traffic. */
CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle object, CUdevice dev)
{
    enum vx_mode mode = vx_cu_mode();
    if (mode == VX_REFUSE)
        return CUDA_ERROR_NO_DEVICE;
    if (mode == VX_LIMIT && vx_cu_region_device(dev) == VX_DEVICE_FOREIGN)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return vx_cu()->cuMulticastAddDevice(object, dev);
}

static CUresult hold(CUresult err, CUmemGenericAllocationHandle object,
                     struct vx_charge *backing)
{
    if (err == CUDA_SUCCESS && backing)
        vx_charge_hold(VX_SPACE_HANDLE, object, backing);
    else
        vx_charge_drop(backing);
    return err;
}

static struct vx_charge *backing_of(CUmemGenericAllocationHandle handle)
{
    return vx_cu_limits() ? vx_charge_backing(VX_SPACE_HANDLE, handle) : NULL;
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle object, size_t offset,
                            CUmemGenericAllocationHandle handle, size_t from,
                            size_t bytes, unsigned long long flags)
{
    struct vx_charge *backing = backing_of(handle);
    return hold(vx_cu()->cuMulticastBindMem(object, offset, handle, from, bytes,
                                            flags),
                object, backing);
}

CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle object,
                               CUdevice dev, size_t offset,
                               CUmemGenericAllocationHandle handle, size_t from,
                               size_t bytes, unsigned long long flags)
{
    struct vx_charge *backing = backing_of(handle);
    return hold(vx_cu()->cuMulticastBindMem_v2(object, dev, offset, handle,
                                               from, bytes, flags),
                object, backing);
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle object, size_t offset,
                             CUdeviceptr at, size_t bytes,
                             unsigned long long flags)
{
    struct vx_charge *backing = vx_cu_limits() ? vx_cu_backing_at(at) : NULL;
    return hold(vx_cu()->cuMulticastBindAddr(object, offset, at, bytes, flags),
                object, backing);
}

CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle object,
                                CUdevice dev, size_t offset, CUdeviceptr at,
                                size_t bytes, unsigned long long flags)
{
    struct vx_charge *backing = vx_cu_limits() ? vx_cu_backing_at(at) : NULL;
    return hold(vx_cu()->cuMulticastBindAddr_v2(object, dev, offset, at, bytes,
                                                flags),
                object, backing);
}

CUresult cuMulticastUnbind(CUmemGenericAllocationHandle object, CUdevice dev,
                           size_t offset, size_t bytes)
{
    return vx_cu()->cuMulticastUnbind(object, dev, offset, bytes);
}
