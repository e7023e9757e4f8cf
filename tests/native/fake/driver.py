"""The CUDA driver API by ctypes, for a simulated or a real libcuda.so.1.

`call` gives the driver's code, `must` raises on any but success; both take Python ints for every integer and
handle. Calls that answer through a pointer have a method of their own here when more than one test needs them.
"""

import contextlib
import ctypes
from collections.abc import Iterator

SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED = 0, 1, 2, 3
NO_DEVICE, INVALID_DEVICE, INVALID_CONTEXT, INVALID_HANDLE, NOT_FOUND = 100, 101, 201, 400, 500
CONTEXT_IS_DESTROYED, HOST_MEMORY_ALREADY_REGISTERED, HOST_MEMORY_NOT_REGISTERED = 709, 712, 713
NOT_SUPPORTED = 801
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

RESERVED_CURRENT, RESERVED_HIGH, USED_CURRENT, USED_HIGH, RELEASE_THRESHOLD = 5, 6, 7, 8, 4  # of a pool
ATTACH_GLOBAL = 1
LIMIT_STACK, LIMIT_PRINTF, LIMIT_HEAP = 0, 1, 2


class CudaError(Exception):
    def __init__(self, name: str, code: int) -> None:
        super().__init__(f"{name} answered {code}")
        self.code = code


class Driver:
    """The driver library, not initialised yet."""

    def __init__(self, path: str = "libcuda.so.1") -> None:
        self.library = ctypes.CDLL(path)

    def has(self, name: str) -> bool:
        return hasattr(self.library, name)

    def call(self, name: str, *args: object) -> int:
        if not self.has(name):
            return NOT_FOUND
        # A 64-bit word passes for any integer of the ABI: a narrower one reads the register's low half.
        words = [ctypes.c_uint64(arg) if isinstance(arg, int) else arg for arg in args]
        return int(getattr(self.library, name)(*words))

    def must(self, name: str, *args: object) -> None:
        code = self.call(name, *args)
        if code:
            raise CudaError(name, code)

    def out(self, name: str, *args: object) -> int:
        """The word that the call stores through its first parameter."""
        word = ctypes.c_uint64(0)
        self.must(name, ctypes.byref(word), *args)
        return word.value

    # Start.

    def init(self) -> "Driver":
        self.must("cuInit", 0)
        return self

    def context(self, device: int = 0) -> int:
        """A new context, current from here on."""
        if self.has("cuCtxCreate_v4"):
            return self.out("cuCtxCreate_v4", None, 0, device)
        return self.out("cuCtxCreate_v2", 0, device)

    def primary(self, device: int = 0) -> int:
        """The primary context, retained and current."""
        context = self.out("cuDevicePrimaryCtxRetain", device)
        self.must("cuCtxSetCurrent", context)
        return context

    def start(self, device: int = 0) -> "Driver":
        self.init().primary(device)
        return self

    @contextlib.contextmanager
    def current(self, context: int) -> Iterator[None]:
        self.must("cuCtxPushCurrent_v2", context)
        yield
        self.must("cuCtxPopCurrent_v2", None)

    # Memory.

    def info(self) -> tuple[int, int]:
        """Free and total bytes of the current device."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.must("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def used(self) -> int:
        free, total = self.info()
        return total - free

    def alloc(self, size: int) -> int:
        return self.out("cuMemAlloc_v2", size)

    def free(self, at: int) -> None:
        self.must("cuMemFree_v2", at)

    def alloc_pitch(self, width: int, height: int, element: int = 4) -> tuple[int, int]:
        at, pitch = ctypes.c_uint64(), ctypes.c_size_t()
        self.must("cuMemAllocPitch_v2", ctypes.byref(at), ctypes.byref(pitch), width, height, element)
        return at.value, pitch.value

    def alloc_managed(self, size: int) -> int:
        return self.out("cuMemAllocManaged", size, ATTACH_GLOBAL)

    def alloc_async(self, size: int, stream: int = 0) -> int:
        return self.out("cuMemAllocAsync", size, stream)

    def free_async(self, at: int, stream: int = 0) -> None:
        self.must("cuMemFreeAsync", at, stream)

    def default_pool(self, device: int = 0) -> int:
        return self.out("cuDeviceGetDefaultMemPool", device)

    def pool_value(self, pool: int, attribute: int) -> int:
        value = ctypes.c_uint64()
        self.must("cuMemPoolGetAttribute", pool, attribute, ctypes.byref(value))
        return value.value

    def set_pool(self, pool: int, attribute: int, value: int) -> None:
        self.must("cuMemPoolSetAttribute", pool, attribute, ctypes.byref(ctypes.c_uint64(value)))

    def pointer(self, attribute: int, at: int) -> int:
        value = ctypes.c_uint64()
        self.must("cuPointerGetAttribute", ctypes.byref(value), attribute, at)
        return value.value

    def synchronize(self) -> None:
        self.must("cuCtxSynchronize")

    def write(self, at: int, data: bytes) -> None:
        self.must("cuMemcpyHtoD_v2", at, data, len(data))

    def read(self, at: int, size: int) -> bytes:
        data = ctypes.create_string_buffer(size)
        self.must("cuMemcpyDtoH_v2", data, at, size)
        return data.raw
