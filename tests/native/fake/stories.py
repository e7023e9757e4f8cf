"""What a guest process does in the tests of the simulated driver: `python -m tests.native.fake.stories NAME [JSON...]`.

A story gets an uninitialised driver and answers something that JSON can say, printed as one line. One that must stop
in the middle says so with `pause`: the test lets it go on, or kills it.
"""

import ctypes
import json
import os
import sys
from importlib import import_module

from tests.native.cuda_classes import CLASSES
from tests.native.fake import driver, structs
from tests.native.fake.driver import GIB, MIB, Driver
from tests.native.fake.plot import STORIES, pause, say, story


@story
def hold(cuda: Driver, name: str, size: int) -> list[int]:
    """Used bytes before, while, and after a class is held."""
    before = cuda.start().used()
    with CLASSES[name].hold(cuda, size):
        held = cuda.used()
    return [before, held, cuda.used()]


@story
def keep(cuda: Driver, size: int) -> None:
    cuda.start().alloc(size)
    pause(cuda.used())


@story
def keep_managed(cuda: Driver, size: int) -> None:
    cuda.start().alloc_managed(size)
    pause(cuda.used())


@story
def ask(cuda: Driver, size: int) -> int:
    return cuda.start().call("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), size)


@story
def race(cuda: Driver, size: int, wins: int) -> int:
    """Asks until it got its memory so often, held for an instant each; the most that was used meanwhile."""
    cuda.start()
    pause("ready")
    at, most = ctypes.c_uint64(), 0
    while wins:
        if cuda.call("cuMemAlloc_v2", ctypes.byref(at), size) == 0:
            most, wins = max(most, cuda.used()), wins - 1
            cuda.free(at.value)
    return most


@story
def churn(cuda: Driver) -> None:
    """Holds and drops classes until it is killed."""
    cuda.start()
    say("ready")
    while True:
        for name in ("plain", "pool", "mapped", "array", "managed", "second_context"):
            with CLASSES[name].hold(cuda, 8 * MIB):
                pass


@story
def small(cuda: Driver, count: int) -> list[int]:
    before = cuda.start().used()
    held = [cuda.alloc(1000) for _ in range(count)]
    during = cuda.used()
    for at in held:
        cuda.free(at)
    return [during - before, cuda.used() - before]


@story
def wrong_calls(cuda: Driver) -> dict[str, int]:
    out, at = ctypes.c_uint64(), ctypes.byref(ctypes.c_uint64())
    answers = {"before cuInit": cuda.call("cuMemAlloc_v2", at, 4096)}
    cuda.init()
    answers["no context"] = cuda.call("cuMemAlloc_v2", at, 4096)
    answers["no such device"] = cuda.call("cuDevicePrimaryCtxRetain", at, 7)
    cuda.primary()
    answers["no output"] = cuda.call("cuMemAlloc_v2", None, 4096)
    answers["zero bytes"] = cuda.call("cuMemAlloc_v2", at, 0)
    answers["unknown pointer"] = cuda.call("cuMemFree_v2", 0x1234000)
    answers["null pointer"] = cuda.call("cuMemFree_v2", 0)
    mine = cuda.alloc(2 * MIB)
    answers["inside an allocation"] = cuda.call("cuMemFree_v2", mine + 512)
    cuda.free(mine)
    answers["twice"] = cuda.call("cuMemFree_v2", mine)
    answers["odd element"] = cuda.call("cuMemAllocPitch_v2", at, at, 100, 4, 3)
    answers["no total"] = cuda.call("cuMemGetInfo_v2", ctypes.byref(out), None)
    answers["no flags"] = cuda.call("cuMemAllocManaged", at, 4096, 0)
    answers["handle of 1 MiB"] = cuda.call("cuMemCreate", at, MIB, ctypes.byref(structs.chunk_of()), 0)
    answers["handle on device 7"] = cuda.call("cuMemCreate", at, 2 * MIB, ctypes.byref(structs.chunk_of(7)), 0)
    answers["not a pool"] = cuda.call("cuMemPoolTrimTo", 0x1234, 0)
    answers["not an array"] = cuda.call("cuArrayDestroy", 0x1234)
    answers["not registered"] = cuda.call("cuMemHostUnregister", 0x1234000)
    cuda.must("cuDevicePrimaryCtxRelease_v2", 0)
    answers["context is gone"] = cuda.call("cuMemAlloc_v2", at, 4096)
    return answers


@story
def pool(cuda: Driver) -> dict[str, list[int]]:
    """[used, reserved, taken from the card] of the default pool along its life, in MiB."""
    start = cuda.start().used()
    which = cuda.default_pool()

    def now() -> list[int]:
        used, kept = (cuda.pool_value(which, a) for a in (driver.USED_CURRENT, driver.RESERVED_CURRENT))
        return [used // MIB, kept // MIB, (cuda.used() - start) // MIB]

    at = cuda.alloc_async(10 * MIB)
    told = {"allocated": now()}
    cuda.free_async(at)
    told["freed"] = now()
    cuda.free_async(cuda.alloc_async(20 * MIB))
    told["again"] = now()
    cuda.synchronize()
    told["synchronised"] = now()
    cuda.set_pool(which, driver.RELEASE_THRESHOLD, 1 << 63)
    cuda.free_async(cuda.alloc_async(40 * MIB))
    cuda.synchronize()
    told["threshold"] = now()
    cuda.must("cuMemPoolTrimTo", which, 30 * MIB)
    told["trimmed to 30"] = now()
    cuda.must("cuMemPoolTrimTo", which, 0)
    told["trimmed"] = now()
    high = [cuda.pool_value(which, a) // MIB for a in (driver.USED_HIGH, driver.RESERVED_HIGH)]
    return told | {"high": high}


@story
def pool_gives_way(cuda: Driver) -> list[int]:
    """Idle bytes of a pool make room for plain memory; only the card's end is an error."""
    cuda.start()
    cuda.set_pool(cuda.default_pool(), driver.RELEASE_THRESHOLD, 1 << 63)
    cuda.free_async(cuda.alloc_async(600 * MIB))
    at = ctypes.c_uint64()
    return [cuda.call("cuMemAlloc_v2", ctypes.byref(at), 600 * MIB), cuda.call("cuMemAlloc_v2", ctypes.byref(at), GIB)]


@story
def pool_cycles(cuda: Driver, count: int) -> list[int]:
    """Mixed streams, pools and current devices; used bytes before and after, of both cards."""
    streams, pools = [], []
    cuda.init()
    contexts = [cuda.primary(device) for device in (0, 1)]
    for device, context in enumerate(contexts):
        with cuda.current(context):
            streams += [0, cuda.out("cuStreamCreate", 1)]
            pools += [cuda.default_pool(device), cuda.out("cuMemPoolCreate", ctypes.byref(structs.pool_of(device)))]
    for turn in range(count):
        device, pick = turn % 2, (turn % 2) * 2 + turn // 2 % 2
        with cuda.current(contexts[device]):
            at = cuda.out("cuMemAllocFromPoolAsync", 4096 + turn, pools[pick], streams[pick])
        with cuda.current(contexts[(turn // 3) % 2]):
            cuda.free_async(at, 0)
    for context in contexts:
        with cuda.current(context):
            cuda.synchronize()
    return [cuda.pool_value(each, driver.USED_CURRENT) for each in pools]


@story
def references(cuda: Driver) -> list[int]:
    """MiB taken while a handle, a mapping and a retained handle keep memory, one by one let go."""
    start = cuda.start().used()

    def taken() -> int:
        return (cuda.used() - start) // MIB

    handle = cuda.out("cuMemCreate", 4 * MIB, ctypes.byref(structs.chunk_of()), 0)
    at = cuda.out("cuMemAddressReserve", 8 * MIB, 0, 0, 0)
    cuda.must("cuMemMap", at, 4 * MIB, 0, handle, 0)
    told = [taken()]
    cuda.must("cuMemRelease", handle)
    told.append(taken())
    again = cuda.out("cuMemRetainAllocationHandle", at + MIB)
    cuda.must("cuMemUnmap", at, 4 * MIB)
    told.append(taken())
    cuda.must("cuMemRelease", again)
    return [*told, taken(), cuda.call("cuMemRelease", again)]


@story
def mappings(cuda: Driver) -> list[object]:
    """One chunk at two addresses is one memory; access and overlap are refused as a driver would."""
    cuda.start()
    handle = cuda.out("cuMemCreate", 2 * MIB, ctypes.byref(structs.chunk_of()), 0)
    at = cuda.out("cuMemAddressReserve", 4 * MIB, 0, 0, 0)
    for place in (at, at + 2 * MIB):
        cuda.must("cuMemMap", place, 2 * MIB, 0, handle, 0)
    access = structs.AccessDesc(structs.device_location(), structs.READ_WRITE)
    cuda.must("cuMemSetAccess", at, 4 * MIB, ctypes.byref(access), 1)
    cuda.write(at, b"once")
    told: list[object] = [cuda.read(at + 2 * MIB, 4).decode()]
    told.append(cuda.call("cuMemMap", at, 2 * MIB, 0, handle, 0))
    told.append(cuda.call("cuMemAddressFree", at, 4 * MIB))
    told.append(cuda.call("cuMemUnmap", at, 3 * MIB))
    told.append(cuda.call("cuMemSetAccess", at + 4 * MIB, 2 * MIB, ctypes.byref(access), 1))
    cuda.must("cuMemUnmap", at, 4 * MIB)
    return [*told, cuda.call("cuMemAddressFree", at, 4 * MIB)]


@story
def other_device(cuda: Driver) -> list[list[int]]:
    """Memory of device 1 while device 0 is current, with no context first: taken MiB of both cards each time."""
    cuda.init()
    handle = cuda.out("cuMemCreate", 6 * MIB, ctypes.byref(structs.chunk_of(1)), 0)
    contexts = [cuda.primary(device) for device in (0, 1)]

    def used() -> list[int]:
        told = []
        for context in contexts:
            with cuda.current(context):
                told.append(cuda.used() // MIB)
        return told

    told = [used()]
    with cuda.current(contexts[1]):
        at = cuda.alloc(10 * MIB)
    with cuda.current(contexts[0]):
        told.append(used())
        cuda.free(at)
        cuda.must("cuMemRelease", handle)
    return [*told, used()]


@story
def managed(cuda: Driver) -> list[int]:
    """GiB of the card used: more than it has is managed, moved out, moved in."""
    cuda.start()
    at = cuda.alloc_managed(3 * GIB)
    told = [cuda.used()]
    cuda.must("cuMemPrefetchAsync_v2", at, 3 * GIB, structs.Location(structs.HOST, 0), 0, 0)
    told.append(cuda.used())
    cuda.must("cuMemPrefetchAsync_v2", at, 3 * GIB, structs.device_location(), 0, 0)
    told.append(cuda.used())
    cuda.synchronize()
    cuda.free(at)
    return [each // MIB for each in (*told, cuda.used())]


@story
def fork(cuda: Driver) -> None:
    cuda.start().alloc(100 * MIB)
    child = os.fork()
    if child == 0:
        before = cuda.call("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), 4096)
        cuda.start()
        cuda.alloc(50 * MIB)
        say([before, cuda.used() // MIB])
        os._exit(0)
    os.waitpid(child, 0)
    say(cuda.used() // MIB)


if __name__ == "__main__":
    import_module("tests.native.fake.stories_context")
    import_module("tests.native.fake.stories_sharing")
    say(STORIES[sys.argv[1]](Driver(), *map(json.loads, sys.argv[2:])))
