"""Structures of the CUDA driver's ABI that the tests fill or read, for ctypes."""

import ctypes

DEVICE, HOST, HOST_NUMA = 1, 2, 3  # CUmemLocation.type
PINNED = 1  # CUmemAllocationType
FD = 1  # CUmemAllocationHandleType
READ_WRITE = 3
UINT8, FLOAT = 1, 0x20  # CUarray_format


class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class AllocationProp(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("metadata", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    ]


class AccessDesc(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


class PoolProps(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("security", ctypes.c_void_p),
        ("max_size", ctypes.c_size_t),
        ("usage", ctypes.c_ushort),
        ("rest", ctypes.c_ubyte * 54),
    ]


class MemAllocNode(ctypes.Structure):
    _fields_ = [
        ("pool", PoolProps),
        ("access", ctypes.c_void_p),
        ("access_count", ctypes.c_size_t),
        ("bytes", ctypes.c_size_t),
        ("at", ctypes.c_uint64),
    ]


class ArrayShape(ctypes.Structure):
    _fields_ = [
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
        ("depth", ctypes.c_size_t),
        ("format", ctypes.c_int),
        ("channels", ctypes.c_uint),
        ("flags", ctypes.c_uint),
    ]


class MulticastProp(ctypes.Structure):
    _fields_ = [
        ("devices", ctypes.c_uint),
        ("size", ctypes.c_size_t),
        ("handle_types", ctypes.c_ulonglong),
        ("flags", ctypes.c_ulonglong),
    ]


class Handle64(ctypes.Structure):
    """CUipcMemHandle, CUmemPoolPtrExportData: 64 bytes that only a driver reads."""

    _fields_ = [("bytes", ctypes.c_ubyte * 64)]


class ExternalMemory(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("fd", ctypes.c_int64),
        ("rest", ctypes.c_ubyte * 8),
        ("size", ctypes.c_ulonglong),
        ("flags", ctypes.c_uint),
        ("reserved", ctypes.c_uint * 16),
    ]


class ExternalBuffer(ctypes.Structure):
    _fields_ = [
        ("offset", ctypes.c_ulonglong),
        ("size", ctypes.c_ulonglong),
        ("flags", ctypes.c_uint),
        ("reserved", ctypes.c_uint * 16),
    ]


class ExternalMipmap(ctypes.Structure):
    _fields_ = [
        ("offset", ctypes.c_ulonglong),
        ("shape", ArrayShape),
        ("levels", ctypes.c_uint),
        ("reserved", ctypes.c_uint * 16),
    ]


SIZES = {
    Location: 8, AllocationProp: 32, AccessDesc: 12, PoolProps: 88, MemAllocNode: 120, ArrayShape: 40,
    MulticastProp: 32, ExternalMemory: 104, ExternalBuffer: 88, ExternalMipmap: 120,
}  # fmt: skip
assert all(ctypes.sizeof(kind) == size for kind, size in SIZES.items())


def device_location(device: int = 0) -> Location:
    return Location(DEVICE, device)


def chunk_of(device: int = 0, *, share: bool = False) -> AllocationProp:
    return AllocationProp(type=PINNED, handle_types=FD if share else 0, location=Location(DEVICE, device))


def pool_of(device: int = 0, *, share: bool = False, max_size: int = 0) -> PoolProps:
    return PoolProps(type=PINNED, handle_types=FD if share else 0, location=Location(DEVICE, device), max_size=max_size)
