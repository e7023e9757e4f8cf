"""MIG on a simulated card: the mode, instances and their placements, and what a CUDA program sees of one."""

from uuid import UUID

import pytest

from tests.native.cards import Cards
from tests.native.conftest import MakeCards
from tests.native.fake.conftest import StartGuest
from tests.native.fake.driver import GIB, MIB, NO_DEVICE, OUT_OF_MEMORY
from tests.native.fake.guest import Guest

INVALID_ARGUMENT, NOT_SUPPORTED, IN_USE, INSUFFICIENT_RESOURCES = 2, 3, 19, 23
PROFILES = {"1g": 19, "1g double memory": 15, "2g": 14, "3g": 9, "4g": 5, "7g": 0}
SM_COUNT = 16

PRELUDE = """
def instances(profile):
    array, count = (n.c_nvmlGpuInstance_t * 7)(), ctypes.c_uint()
    n.nvmlDeviceGetGpuInstances(h, profile, array, ctypes.byref(count))
    return [n.nvmlGpuInstanceGetInfo(array[i]) for i in range(count.value)]

def device(profile, slices=0):
    gpu = n.nvmlDeviceCreateGpuInstance(h, profile)
    n.nvmlGpuInstanceCreateComputeInstance(gpu, slices)
    return gpu

def uuids():
    found = []
    for i in range(7):
        try:
            found.append(n.nvmlDeviceGetUUID(n.nvmlDeviceGetMigDeviceHandleByIndex(h, i)))
        except n.NVMLError_NotFound:
            return found
    return found
"""


@pytest.fixture
def operator(reader: StartGuest) -> StartGuest:
    """A guest with NVML and the few steps that MIG takes."""

    def make(cards: Cards, *, mode: int = 1) -> Guest:
        guest = reader(cards)
        guest(PRELUDE)
        guest(f"n.nvmlDeviceSetMigMode(h, {mode})")
        return guest

    return make


def test_without_the_mode_there_are_no_instances(make_cards: MakeCards, operator: StartGuest) -> None:
    nvml = operator(make_cards(), mode=0)

    assert nvml("n.nvmlDeviceGetMigMode(h)") == [0, 0]
    assert nvml.code("device(19)") == NOT_SUPPORTED
    assert nvml.code("n.nvmlDeviceGetMigDeviceHandleByIndex(h, 0)") == NOT_SUPPORTED


def test_profiles_divide_seven_parts_of_compute_and_eight_of_memory(
    make_cards: MakeCards, operator: StartGuest
) -> None:
    nvml = operator(make_cards(memory_mib=80 * 1024, sms=132))
    numbers = {"1g": 0, "2g": 1, "3g": 2, "4g": 3, "7g": 4, "1g double memory": 9}

    for name, number in numbers.items():
        info = nvml.fields(f"n.nvmlDeviceGetGpuInstanceProfileInfo(h, {number})")
        slices = info["sliceCount"]
        memory = {"1g": 1, "1g double memory": 2, "2g": 2, "3g": 4, "4g": 4, "7g": 8}[name]
        assert (info["id"], info["memorySizeMB"]) == (PROFILES[name], memory * 10 * 1024)
        assert info["multiprocessorCount"] == (132 if slices == 7 else 132 * slices // 8)
    assert nvml.code("n.nvmlDeviceGetGpuInstanceProfileInfo(h, 5)") == NOT_SUPPORTED
    assert nvml.code("n.nvmlDeviceGetGpuInstanceProfileInfo(h, 99)") == INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("taken", "asked", "fits"),
    [
        ((), "7g", True),
        (("3g", "3g"), "1g", False),  # all memory is taken
        (("4g", "2g", "1g"), "1g", False),  # all compute is taken
        (("4g", "1g", "1g", "1g"), "1g", False),
        (("4g",), "3g", True),
        (("1g",), "7g", False),
        (("2g", "2g", "2g"), "1g", True),
        (("2g", "2g", "2g", "1g"), "1g", False),
    ],
)
def test_instances_share_the_card_without_overlap(
    taken: tuple[str, ...], asked: str, fits: bool, make_cards: MakeCards, operator: StartGuest
) -> None:
    nvml = operator(make_cards())
    for name in taken:
        nvml(f"device({PROFILES[name]})")
    room = nvml.number(f"n.nvmlDeviceGetGpuInstanceRemainingCapacity(h, {PROFILES[asked]})")

    assert nvml.code(f"device({PROFILES[asked]})") == (0 if fits else INSUFFICIENT_RESOURCES)
    assert (room > 0) == fits


def test_a_placement_is_taken_as_asked(make_cards: MakeCards, operator: StartGuest) -> None:
    nvml = operator(make_cards())
    nvml("place = n.c_nvmlGpuInstancePlacement_t(4, 4)")
    nvml("n.nvmlDeviceCreateGpuInstanceWithPlacement(h, 9, ctypes.byref(place))")
    nvml("device(9)")

    assert nvml("[(i.placement.start, i.placement.size) for i in instances(9)]") == [[4, 4], [0, 4]]
    assert nvml.code("n.nvmlDeviceCreateGpuInstanceWithPlacement(h, 19, ctypes.byref(place))") == INSUFFICIENT_RESOURCES


def test_the_mode_waits_while_the_card_is_in_use(make_cards: MakeCards, operator: StartGuest, user: StartGuest) -> None:
    cards = make_cards()
    nvml = operator(cards, mode=0)
    guest = user(cards)

    assert nvml("n.nvmlDeviceSetMigMode(h, 1)") == IN_USE
    assert nvml("n.nvmlDeviceGetMigMode(h)") == [0, 1]
    guest.kill()
    assert nvml("n.nvmlDeviceSetMigMode(h, 1)") == 0
    nvml("device(19)")
    assert nvml("n.nvmlDeviceSetMigMode(h, 0)") == IN_USE


def test_a_program_sees_its_instance_as_a_smaller_card(
    make_cards: MakeCards, operator: StartGuest, user: StartGuest
) -> None:
    cards = make_cards(count=2, memory_mib=80 * 1024, sms=132)
    nvml = operator(cards)
    nvml("device(14, 1)")
    guest = user(cards)
    total = guest.number("cuda.info()[1]")
    guest("name = ctypes.create_string_buffer(100); cuda.must('cuDeviceGetName', name, 100, 0)")
    guest("uuid = (ctypes.c_ubyte * 16)(); cuda.must('cuDeviceGetUuid_v2', uuid, 0)")

    assert guest('cuda.out("cuDeviceGetCount")') == 1  # not the second card either
    assert (total, guest('cuda.out("cuDeviceTotalMem_v2", 0)')) == (20 * GIB, 20 * GIB)
    assert guest(f'cuda.out("cuDeviceGetAttribute", {SM_COUNT}, 0)') == 33
    assert guest("name.value") == "Simulated GPU 80GB MIG 2g.20gb"
    assert [f"MIG-{UUID(str(guest('bytes(uuid).hex()')))}"] == nvml("uuids()")


def test_an_instance_is_full_while_the_card_is_not(
    make_cards: MakeCards, operator: StartGuest, user: StartGuest
) -> None:
    cards = make_cards(memory_mib=80 * 1024)
    nvml = operator(cards)
    nvml("first, second = device(19), device(19)")
    one, two = (user(cards, CUDA_VISIBLE_DEVICES=str(nvml(f"uuids()[{i}]"))) for i in range(2))

    one(f"cuda.alloc({9 * GIB})")
    assert one.code(f"cuda.alloc({GIB})") == OUT_OF_MEMORY
    assert two.code(f"cuda.alloc({9 * GIB})") == 0
    nvml("m = n.nvmlDeviceGetMigDeviceHandleByIndex(h, 0)")
    assert nvml.fields("n.nvmlDeviceGetMemoryInfo(m)")["used"] == 9 * GIB + 300 * MIB
    assert nvml("[p.pid for p in n.nvmlDeviceGetComputeRunningProcesses(m)]") == [one.pid]
    assert nvml("[n.nvmlDeviceGetGpuInstanceId(m), n.nvmlDeviceGetComputeInstanceId(m)]") == [1, 0]


def test_what_is_in_use_is_not_destroyed(make_cards: MakeCards, operator: StartGuest, user: StartGuest) -> None:
    cards = make_cards()
    nvml = operator(cards)
    nvml("gpu = n.nvmlDeviceCreateGpuInstance(h, 9); part = n.nvmlGpuInstanceCreateComputeInstance(gpu, 2)")
    guest = user(cards)

    assert nvml.code("n.nvmlGpuInstanceDestroy(gpu)") == IN_USE
    assert nvml.code("n.nvmlComputeInstanceDestroy(part)") == IN_USE
    guest.kill()
    nvml("n.nvmlComputeInstanceDestroy(part)")
    nvml("n.nvmlGpuInstanceDestroy(gpu)")
    assert nvml.code("n.nvmlGpuInstanceGetInfo(gpu)") == INVALID_ARGUMENT
    assert nvml("uuids()") == []


def test_compute_instances_divide_an_instance(make_cards: MakeCards, operator: StartGuest) -> None:
    nvml = operator(make_cards(sms=112))
    nvml("gpu = n.nvmlDeviceCreateGpuInstance(h, 9)")
    nvml("[n.nvmlGpuInstanceCreateComputeInstance(gpu, 0) for _ in range(3)]")

    assert nvml.code("n.nvmlGpuInstanceCreateComputeInstance(gpu, 0)") == INSUFFICIENT_RESOURCES
    assert nvml("len(set(uuids()))") == 3
    nvml("m = n.nvmlDeviceGetMigDeviceHandleByIndex(h, 2)")
    attributes = nvml.fields("n.nvmlDeviceGetAttributes_v2(m)")
    assert (attributes["multiprocessorCount"], attributes["gpuInstanceSliceCount"]) == (14, 3)
    assert nvml("n.nvmlDeviceGetIndex(n.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(m))") == 0
    assert nvml("[n.nvmlDeviceIsMigDeviceHandle(x).value for x in (h, m)]") == [0, 1]


def test_a_card_without_instances_is_no_device(make_cards: MakeCards, operator: StartGuest, start: StartGuest) -> None:
    cards = make_cards()
    operator(cards)

    assert start(cards).code("cuda.init()") == NO_DEVICE


def test_utilisation_of_a_divided_card_is_not_supported(make_cards: MakeCards, operator: StartGuest) -> None:
    nvml = operator(make_cards())

    assert nvml.code("n.nvmlDeviceGetUtilizationRates(h)") == NOT_SUPPORTED
    assert nvml.code("n.nvmlDeviceGetProcessUtilization(h, 0)") == NOT_SUPPORTED
