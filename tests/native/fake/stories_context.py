"""Stories of contexts: what they take, who may have one."""

import ctypes

from tests.native.fake import driver
from tests.native.fake.driver import MIB, Driver
from tests.native.fake.plot import pause, story


@story
def contexts(cuda: Driver) -> list[int]:
    """MiB used, seen from the other card's context: none, one, two contexts, none again."""
    cuda.init()
    device = cuda.out("cuDeviceGet", 0)
    first = cuda.primary(device)
    told = [cuda.used()]
    second = cuda.context(device)
    cuda.alloc(64 * MIB)
    told.append(cuda.used())
    cuda.must("cuCtxDestroy_v2", second)
    with cuda.current(first):
        told.append(cuda.used())
    cuda.must("cuDevicePrimaryCtxReset_v2", device)
    cuda.context(1)
    pause([each // MIB for each in told])
    return [cuda.used() // MIB]


@story
def limits(cuda: Driver) -> list[int]:
    cuda.start()
    told = [cuda.used()]
    for limit, value in ((driver.LIMIT_HEAP, 108 * MIB), (driver.LIMIT_STACK, 2048), (driver.LIMIT_HEAP, 8 * MIB)):
        cuda.must("cuCtxSetLimit", limit, value)
        told.append(cuda.used())
    too_much = cuda.call("cuCtxSetLimit", driver.LIMIT_HEAP, 1 << 50)
    cuda.must("cuDevicePrimaryCtxRelease_v2", 0)
    return [*(each // MIB for each in told), too_much, cuda.start().used() // MIB]


@story
def enter(cuda: Driver) -> int:
    """The code of a first context."""
    return cuda.init().call("cuDevicePrimaryCtxRetain", ctypes.byref(ctypes.c_uint64()), 0)


@story
def green(cuda: Driver) -> dict[str, object]:
    """A part of the SMs: what it has, and whose its memory is."""
    cuda.init()
    whole, parts, rest = (ctypes.create_string_buffer(144 * n) for n in (1, 4, 1))
    groups = ctypes.c_uint(4)
    cuda.must("cuDeviceGetDevResource", 0, whole, 1)
    cuda.must("cuDevSmResourceSplitByCount", parts, ctypes.byref(groups), whole, rest, 0, 30)

    def sms(of: ctypes.Array[ctypes.c_char], index: int = 0) -> int:
        return int.from_bytes(of.raw[144 * index + 96 :][:4], "little")

    made = cuda.out("cuGreenCtxCreate", cuda.out("cuDevResourceGenerateDesc", parts, 1), 0, 1)
    context = cuda.out("cuCtxFromGreenCtx", made)
    cuda.must("cuCtxSetCurrent", context)
    told: dict[str, object] = {"sms": [sms(whole), sms(parts), sms(rest)], "groups": groups.value}
    at = cuda.alloc(64 * MIB)
    primary = cuda.out("cuDevicePrimaryCtxRetain", 0)
    told["owner is the primary one"] = cuda.pointer(1, at) == primary
    cuda.must("cuGreenCtxDestroy", made)
    told["then"] = cuda.call("cuMemFree_v2", at)
    cuda.must("cuCtxSetCurrent", primary)
    told["left"] = cuda.used() // MIB
    cuda.free(at)
    return told | {"freed": cuda.used() // MIB}


@story
def stack_of_contexts(cuda: Driver) -> list[object]:
    """Push, pop, a context that is destroyed while another is current, versions, and the state of the primary one."""
    cuda.init()
    state = ctypes.c_uint(), ctypes.c_int()

    def active() -> int:
        cuda.must("cuDevicePrimaryCtxGetState", 0, *map(ctypes.byref, state))
        return state[1].value

    told: list[object] = [active()]
    first, second = cuda.primary(), cuda.context()
    told += [active(), cuda.out("cuCtxGetCurrent") == second]
    told.append(cuda.out("cuCtxPopCurrent_v2") == second and cuda.out("cuCtxGetCurrent") == first)
    cuda.must("cuCtxDestroy_v2", second)
    told.append(cuda.call("cuCtxPushCurrent_v2", second))
    told.append(cuda.call("cuCtxDestroy_v2", first))
    version = ctypes.c_uint()
    cuda.must("cuCtxGetApiVersion", first, ctypes.byref(version))
    told.append(version.value)
    cuda.must("cuDevicePrimaryCtxRelease_v2", 0)
    return [*told, active(), cuda.call("cuDevicePrimaryCtxRelease_v2", 0)]


@story
def peers(cuda: Driver) -> list[int]:
    cuda.init()
    can = ctypes.c_int()
    other, mine = cuda.primary(1), cuda.primary(0)
    cuda.must("cuDeviceCanAccessPeer", ctypes.byref(can), 0, 1)
    calls = ["cuCtxDisablePeerAccess", "cuCtxEnablePeerAccess", "cuCtxEnablePeerAccess", "cuCtxDisablePeerAccess"]
    told = [cuda.call(name, other, 0) for name in calls]
    return [can.value, *told, cuda.call("cuCtxEnablePeerAccess", mine, 0)]


@story
def exclusive(cuda: Driver) -> None:
    cuda.start()
    pause(driver.SUCCESS)
