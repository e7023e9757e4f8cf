"""Stories of memory that more than one process, handle or API knows."""

import ctypes
import os

from tests.native.fake import structs
from tests.native.fake.driver import MIB, Driver
from tests.native.fake.plot import pause, story


@story
def export(cuda: Driver) -> list[object]:
    """Every way to share, offered to whoever reads the line; the last line is what it took."""
    cuda.start()
    ipc, fd = structs.Handle64(), ctypes.c_int()
    at = cuda.alloc(64 * MIB)
    cuda.must("cuIpcGetMemHandle", ctypes.byref(ipc), at)
    handle = cuda.out("cuMemCreate", 4 * MIB, ctypes.byref(structs.chunk_of(share=True)), 0)
    cuda.must("cuMemExportToShareableHandle", ctypes.byref(fd), handle, structs.FD, 0)
    pause([bytes(ipc).hex(), f"/proc/{os.getpid()}/fd/{fd.value}", cuda.used()])
    itself = cuda.call("cuIpcOpenMemHandle_v2", ctypes.byref(ctypes.c_uint64()), ipc, 1)
    cuda.free(at)
    cuda.must("cuMemRelease", handle)
    return [itself, cuda.used()]


@story
def take_shared(cuda: Driver, ipc: str, file: str) -> dict[str, object]:
    """Opens what another process exported: nothing of it is taken a second time."""
    before = cuda.start().used()
    opened, again = ctypes.c_uint64(), ctypes.c_uint64()
    handle = structs.Handle64.from_buffer_copy(bytes.fromhex(ipc))
    for at in (opened, again):
        cuda.must("cuIpcOpenMemHandle_v2", ctypes.byref(at), handle, 1)
    told: dict[str, object] = {"same": opened.value == again.value, "size": cuda.pointer(12, opened.value)}
    chunk = cuda.out("cuMemImportFromShareableHandle", os.open(file, os.O_RDWR), structs.FD)
    told["taken"] = cuda.used() - before
    told["closes"] = [cuda.call("cuIpcCloseMemHandle", opened.value) for _ in range(3)]
    told["release"] = [cuda.call("cuMemRelease", chunk) for _ in range(2)]
    return told | {"left": cuda.used() - before}


@story
def share_pool(cuda: Driver) -> None:
    cuda.start()
    pool = cuda.out("cuMemPoolCreate", ctypes.byref(structs.pool_of(share=True)))
    at = cuda.out("cuMemAllocFromPoolAsync", 16 * MIB, pool, 0)
    fd, data = ctypes.c_int(), structs.Handle64()
    cuda.must("cuMemPoolExportToShareableHandle", ctypes.byref(fd), pool, structs.FD, 0)
    cuda.must("cuMemPoolExportPointer", ctypes.byref(data), at)
    pause([f"/proc/{os.getpid()}/fd/{fd.value}", bytes(data).hex()])


@story
def take_pool(cuda: Driver, file: str, data: str) -> list[int]:
    """Imports the pool and its pointer; an allocation from it is refused; frees by both calls."""
    before = cuda.start().used()
    pool = cuda.out("cuMemPoolImportFromShareableHandle", os.open(file, os.O_RDWR), structs.FD, 0)
    word = structs.Handle64.from_buffer_copy(bytes.fromhex(data))
    pointers = [cuda.out("cuMemPoolImportPointer", pool, ctypes.byref(word)) for _ in range(2)]
    taken = cuda.used() - before
    refused = cuda.call("cuMemAllocFromPoolAsync", ctypes.byref(ctypes.c_uint64()), MIB, pool, 0)
    frees = [cuda.call("cuMemFreeAsync", pointers[0], 0), cuda.call("cuMemFree_v2", pointers[1])]
    cuda.synchronize()
    return [taken, refused, *frees, cuda.call("cuMemPoolDestroy", pool), cuda.used() - before]


@story
def old_addresses(cuda: Driver) -> list[bool]:
    """The calls of 32 bits: plain and pitched memory below 4 GiB, and their frees."""
    cuda.start()
    plain = cuda.out("cuMemAlloc", 5 * MIB)
    at, pitch = ctypes.c_uint(), ctypes.c_uint()
    cuda.must("cuMemAllocPitch", ctypes.byref(at), ctypes.byref(pitch), 700, 10, 4)
    base, size = ctypes.c_uint(), ctypes.c_uint()
    cuda.must("cuMemGetAddressRange", ctypes.byref(base), ctypes.byref(size), plain + MIB)
    same = (base.value, size.value) == (plain, 5 * MIB)
    cuda.must("cuMemFree", plain)
    cuda.must("cuMemFree", at.value)
    return [0 < plain < 1 << 32, at.value > 0, pitch.value == 1024, same, cuda.used() == 300 * MIB]


@story
def outside_memory(cuda: Driver) -> list[int]:
    """A buffer and a mipmapped array of external memory take nothing; their frees are the usual ones."""
    before = cuda.start().used()
    file = os.memfd_create("outside")
    os.ftruncate(file, 32 * MIB)
    os.pwrite(file, b"from outside", 0)
    desc = structs.ExternalMemory(type=1, fd=file, size=32 * MIB)
    memory = cuda.out("cuImportExternalMemory", ctypes.byref(desc))
    buffer = structs.ExternalBuffer(offset=0, size=32 * MIB)
    at = cuda.out("cuExternalMemoryGetMappedBuffer", memory, ctypes.byref(buffer))
    levels = structs.ExternalMipmap(shape=structs.ArrayShape(256, 256, 0, structs.FLOAT, 4, 0), levels=3)
    array = cuda.out("cuExternalMemoryGetMappedMipmappedArray", memory, ctypes.byref(levels))
    taken = cuda.used() - before
    shown = cuda.read(at, 12) == b"from outside"
    codes = [cuda.call("cuMipmappedArrayDestroy", array), cuda.call("cuMemFree_v2", at)]
    codes.append(cuda.call("cuDestroyExternalMemory", memory))
    return [taken, shown, *codes, cuda.call("cuDestroyExternalMemory", memory), cuda.used() - before]


@story
def graph_memory(cuda: Driver) -> dict[str, list[int]]:
    """[used, reserved, taken from the card] in MiB of graphs' memory as nodes are added, launched, freed, trimmed."""
    start = cuda.start().used()
    plan, step = cuda.out("cuGraphCreate", 0), ctypes.c_uint64()

    def now() -> list[int]:
        word = ctypes.c_uint64()
        told = []
        for attribute in (0, 2):
            cuda.must("cuDeviceGetGraphMemAttribute", 0, attribute, ctypes.byref(word))
            told.append(word.value)
        return [each // MIB for each in (*told, cuda.used() - start)]

    node = structs.MemAllocNode(pool=structs.pool_of(), bytes=10 * MIB)
    cuda.must("cuGraphAddMemAllocNode", ctypes.byref(step), plan, None, 0, ctypes.byref(node))
    told = {"added": now()}
    ready = cuda.out("cuGraphInstantiateWithFlags", plan, 0)
    cuda.must("cuGraphLaunch", ready, 0)
    cuda.synchronize()
    told["launched"] = now()
    cuda.must("cuGraphExecDestroy", ready)
    cuda.must("cuGraphDestroy", plan)
    told["its graph is gone"] = now()
    cuda.free_async(node.at)
    cuda.synchronize()
    told["freed"] = now()
    cuda.must("cuDeviceGraphMemTrim", 0)
    return told | {"trimmed": now()}
