"""Every class of memory that a CUDA program can allocate, each as one thing that is held and let go."""

import contextlib
import ctypes
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from tests.native.fake import structs
from tests.native.fake.driver import KIB, LIMIT_HEAP, LIMIT_PRINTF, LIMIT_STACK, MIB, Driver

Hold = Callable[[Driver, int], AbstractContextManager[object]]
PAGE = 2 * MIB


@dataclass(frozen=True, slots=True)
class MemoryClass:
    name: str
    hold: Hold
    """Allocates that many bytes (or as near as the class can) on the current device."""
    on_card: bool
    """It takes the card's memory."""


@contextlib.contextmanager
def plain(cuda: Driver, size: int) -> Iterator[int]:
    at = cuda.alloc(size)
    yield at
    cuda.free(at)


@contextlib.contextmanager
def plain_32bit(cuda: Driver, size: int) -> Iterator[int]:
    """The call from before CUDA 3.2: 32-bit addresses and sizes."""
    at = cuda.out("cuMemAlloc", size) & 0xFFFFFFFF
    yield at
    cuda.must("cuMemFree", at)


@contextlib.contextmanager
def pitch(cuda: Driver, size: int) -> Iterator[int]:
    at, _ = cuda.alloc_pitch(64 * KIB - 100, max(1, size // (64 * KIB)))
    yield at
    cuda.free(at)


@contextlib.contextmanager
def managed(cuda: Driver, size: int) -> Iterator[int]:
    at = cuda.alloc_managed(size)
    if cuda.has("cuMemPrefetchAsync_v2"):
        cuda.must("cuMemPrefetchAsync_v2", at, size, structs.device_location(), 0, 0)
    else:
        cuda.must("cuMemPrefetchAsync", at, size, 0, 0)
    cuda.synchronize()
    yield at
    cuda.free(at)


def _pooled(suffix: str) -> Hold:
    @contextlib.contextmanager
    def hold(cuda: Driver, size: int) -> Iterator[int]:
        at = cuda.out(f"cuMemAllocAsync{suffix}", size, 0)
        yield at
        cuda.must(f"cuMemFreeAsync{suffix}", at, 0)
        cuda.synchronize()
        cuda.must("cuMemPoolTrimTo", cuda.default_pool(), 0)

    return hold


@contextlib.contextmanager
def created_pool(cuda: Driver, size: int) -> Iterator[int]:
    pool = cuda.out("cuMemPoolCreate", ctypes.byref(structs.pool_of()))
    at = cuda.out("cuMemAllocFromPoolAsync", size, pool, 0)
    yield at
    cuda.free_async(at)
    cuda.synchronize()
    cuda.must("cuMemPoolDestroy", pool)


@contextlib.contextmanager
def mapped(cuda: Driver, size: int) -> Iterator[int]:
    """A physical handle at a reserved address; the handle is released while the mapping keeps it."""
    size = -(-size // PAGE) * PAGE
    handle = cuda.out("cuMemCreate", size, ctypes.byref(structs.chunk_of()), 0)
    at = cuda.out("cuMemAddressReserve", size, 0, 0, 0)
    cuda.must("cuMemMap", at, size, 0, handle, 0)
    access = structs.AccessDesc(structs.device_location(), structs.READ_WRITE)
    cuda.must("cuMemSetAccess", at, size, ctypes.byref(access), 1)
    cuda.must("cuMemRelease", handle)
    yield at
    cuda.must("cuMemUnmap", at, size)
    cuda.must("cuMemAddressFree", at, size)


@contextlib.contextmanager
def handle_only(cuda: Driver, size: int) -> Iterator[int]:
    handle = cuda.out("cuMemCreate", -(-size // PAGE) * PAGE, ctypes.byref(structs.chunk_of()), 0)
    yield handle
    cuda.must("cuMemRelease", handle)


@contextlib.contextmanager
def host_handle(cuda: Driver, size: int) -> Iterator[int]:
    prop = structs.AllocationProp(type=structs.PINNED, location=structs.Location(structs.HOST_NUMA, 0))
    handle = cuda.out("cuMemCreate", -(-size // PAGE) * PAGE, ctypes.byref(prop), 0)
    yield handle
    cuda.must("cuMemRelease", handle)


@contextlib.contextmanager
def array(cuda: Driver, size: int) -> Iterator[int]:
    words = (ctypes.c_size_t * 3)(1024, max(1, size // (4 * KIB)), structs.FLOAT | 1 << 32)
    handle = cuda.out("cuArrayCreate_v2", words)
    yield handle
    cuda.must("cuArrayDestroy", handle)


def _shape(size: int) -> structs.ArrayShape:
    return structs.ArrayShape(1024, max(1, size // (4 * KIB)), 0, structs.FLOAT, 1, 0)


@contextlib.contextmanager
def array_3d(cuda: Driver, size: int) -> Iterator[int]:
    shape = structs.ArrayShape(256, 256, max(1, size // (256 * KIB)), structs.FLOAT, 1, 0)
    handle = cuda.out("cuArray3DCreate_v2", ctypes.byref(shape))
    yield handle
    cuda.must("cuArrayDestroy", handle)


@contextlib.contextmanager
def mipmapped(cuda: Driver, size: int) -> Iterator[int]:
    handle = cuda.out("cuMipmappedArrayCreate", ctypes.byref(_shape(size)), 4)
    yield handle
    cuda.must("cuMipmappedArrayDestroy", handle)


@contextlib.contextmanager
def graph(cuda: Driver, size: int) -> Iterator[int]:
    """An allocation node whose memory outlives the launch; the program frees it."""
    plan = cuda.out("cuGraphCreate", 0)
    node, step = structs.MemAllocNode(pool=structs.pool_of(), bytes=size), ctypes.c_uint64()
    cuda.must("cuGraphAddMemAllocNode", ctypes.byref(step), plan, None, 0, ctypes.byref(node))
    ready = cuda.out("cuGraphInstantiateWithFlags", plan, 0)
    cuda.must("cuGraphLaunch", ready, 0)
    cuda.synchronize()
    yield node.at
    cuda.free(node.at)
    cuda.must("cuGraphExecDestroy", ready)
    cuda.must("cuGraphDestroy", plan)
    cuda.must("cuDeviceGraphMemTrim", 0)


@contextlib.contextmanager
def captured(cuda: Driver, size: int) -> Iterator[int]:
    """The same by capturing a stream-ordered allocation."""
    stream = cuda.out("cuStreamCreate", 1)
    cuda.must("cuStreamBeginCapture_v2", stream, 0)
    at = cuda.alloc_async(size, stream)
    plan = ctypes.c_uint64()
    cuda.must("cuStreamEndCapture", stream, ctypes.byref(plan))
    ready = cuda.out("cuGraphInstantiateWithFlags", plan.value, 0)
    cuda.must("cuGraphLaunch", ready, stream)
    cuda.synchronize()
    yield at
    cuda.free(at)
    cuda.must("cuGraphExecDestroy", ready)
    cuda.must("cuGraphDestroy", plan.value)
    cuda.must("cuStreamDestroy_v2", stream)
    cuda.must("cuDeviceGraphMemTrim", 0)


def _limit(limit: int, unit: int) -> Hold:
    @contextlib.contextmanager
    def hold(cuda: Driver, size: int) -> Iterator[None]:
        before = cuda.out("cuCtxGetLimit", limit)
        cuda.must("cuCtxSetLimit", limit, before + max(1, size // unit))
        yield
        cuda.must("cuCtxSetLimit", limit, before)

    return hold


@contextlib.contextmanager
def second_context(cuda: Driver, size: int) -> Iterator[int]:
    """A context of its own and memory in it: all goes with the context."""
    context = cuda.context()
    cuda.alloc(size)
    yield context
    cuda.must("cuCtxDestroy_v2", context)


@contextlib.contextmanager
def host(cuda: Driver, size: int) -> Iterator[int]:
    at = cuda.out("cuMemHostAlloc", size, 0)
    yield at
    cuda.must("cuMemFreeHost", at)


@contextlib.contextmanager
def host_old(cuda: Driver, size: int) -> Iterator[int]:
    at = cuda.out("cuMemAllocHost_v2", size)
    yield at
    cuda.must("cuMemFreeHost", at)


@contextlib.contextmanager
def registered(cuda: Driver, size: int) -> Iterator[int]:
    own = mmap.mmap(-1, size)
    at = ctypes.addressof(ctypes.c_char.from_buffer(own))
    cuda.must("cuMemHostRegister_v2", at, size, 0)
    yield at
    cuda.must("cuMemHostUnregister", at)


@contextlib.contextmanager
def external(cuda: Driver, size: int) -> Iterator[int]:
    """Memory of another API by descriptor. A real driver takes only what Vulkan or the like exported."""
    with tempfile.TemporaryFile() as file:
        os.ftruncate(file.fileno(), size)
        desc = structs.ExternalMemory(type=1, fd=os.dup(file.fileno()), size=size)
        memory = cuda.out("cuImportExternalMemory", ctypes.byref(desc))
    buffer = structs.ExternalBuffer(offset=0, size=size)
    at = cuda.out("cuExternalMemoryGetMappedBuffer", memory, ctypes.byref(buffer))
    yield at
    cuda.free(at)
    cuda.must("cuDestroyExternalMemory", memory)


@contextlib.contextmanager
def multicast(cuda: Driver, size: int) -> Iterator[int]:
    size = -(-size // PAGE) * PAGE
    group = cuda.out("cuMulticastCreate", ctypes.byref(structs.MulticastProp(devices=1, size=size)))
    cuda.must("cuMulticastAddDevice", group, 0)
    memory = cuda.out("cuMemCreate", size, ctypes.byref(structs.chunk_of()), 0)
    cuda.must("cuMulticastBindMem", group, 0, memory, 0, size, 0)
    cuda.must("cuMemRelease", memory)
    yield group
    cuda.must("cuMulticastUnbind", group, 0, 0, size)
    cuda.must("cuMemRelease", group)


CLASSES = {
    each.name: each
    for each in (
        MemoryClass("plain", plain, True),
        MemoryClass("plain_32bit", plain_32bit, True),
        MemoryClass("pitch", pitch, True),
        MemoryClass("managed", managed, True),
        MemoryClass("pool", _pooled(""), True),
        MemoryClass("pool_per_thread", _pooled("_ptsz"), True),
        MemoryClass("created_pool", created_pool, True),
        MemoryClass("mapped", mapped, True),
        MemoryClass("handle_only", handle_only, True),
        MemoryClass("host_handle", host_handle, False),
        MemoryClass("array", array, True),
        MemoryClass("array_3d", array_3d, True),
        MemoryClass("mipmapped", mipmapped, True),
        MemoryClass("graph", graph, True),
        MemoryClass("captured", captured, True),
        MemoryClass("heap_limit", _limit(LIMIT_HEAP, 1), True),
        MemoryClass("printf_limit", _limit(LIMIT_PRINTF, 1), True),
        MemoryClass("stack_limit", _limit(LIMIT_STACK, 256 * KIB), True),
        MemoryClass("second_context", second_context, True),
        MemoryClass("host", host, False),
        MemoryClass("host_old", host_old, False),
        MemoryClass("registered", registered, False),
        MemoryClass("external", external, False),
        MemoryClass("multicast", multicast, True),
    )
}
