"""The fake NVML as nvidia-ml-py reads it: identity, readings, processes, samples, accounts, events, topology."""

import ctypes
import inspect
import os
import re
import signal
import subprocess
from pathlib import Path

import pynvml
import pytest

from tests.native.cards import FAKE
from tests.native.conftest import MakeCards
from tests.native.fake.conftest import StartGuest
from tests.native.fake.driver import MIB
from tests.native.fake.guest import GuestError

UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND = 1, 2, 3, 4, 6
DRIVER_NOT_LOADED, TIMEOUT, GPU_IS_LOST = 9, 10, 15
PERIOD_MS = 1000 / 6
CONTEXT_MIB = 300

READINGS = {
    "temperature": ("n.nvmlDeviceGetTemperature(h, 0)", {"temperature_c": 71}, 71),
    "power": ("n.nvmlDeviceGetPowerUsage(h)", {"power_mw": 123456}, 123456),
    "clocks": ("n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_SM)", {"clock_sm_mhz": 900}, 900),
    "throttle": ("n.nvmlDeviceGetCurrentClocksEventReasons(h)", {"throttle_reasons": 0x48}, 0x48),
    "ecc": ("n.nvmlDeviceGetTotalEccErrors(h, 1, 0)", {"ecc_uncorrected": 7}, 7),
    "retired": ("len(n.nvmlDeviceGetRetiredPages(h, 1))", {"retired_double": 3}, 3),
    "remapped": ("n.nvmlDeviceGetRemappedRows(h)", {"remapped_uncorrected": 2, "remapped_pending": 1}, [0, 2, 1, 0]),
    "pcie": ("n.nvmlDeviceGetPcieThroughput(h, n.NVML_PCIE_UTIL_RX_BYTES)", {"pcie_rx_kib": 4096}, 4096),
}
UNSUPPORTED = {name: call for name, (call, _, _) in READINGS.items()} | {
    "energy": "n.nvmlDeviceGetTotalEnergyConsumption(h)",
    "utilization": "n.nvmlDeviceGetUtilizationRates(h)",
    "processes": "n.nvmlDeviceGetComputeRunningProcesses(h)",
    "process_utilization": "n.nvmlDeviceGetProcessUtilization(h, 0)",
    "accounting": "n.nvmlDeviceGetAccountingMode(h)",
    "nvlink": "n.nvmlDeviceGetNvLinkState(h, 0)",
    "mig": "n.nvmlDeviceGetMigMode(h)",
}


def test_every_name_that_nvidia_ml_py_asks_for_is_there() -> None:
    asked = set(re.findall(r'_nvmlGetFunctionPointer\("(\w+)"\)', inspect.getsource(pynvml)))
    library = ctypes.CDLL(str(FAKE / "libnvidia-ml.so.1"))

    assert len(asked) > 300
    assert [name for name in sorted(asked) if not hasattr(library, name)] == []


def test_what_is_not_modelled_is_not_supported(make_cards: MakeCards, reader: StartGuest) -> None:
    nvml = reader(make_cards())

    assert nvml.code("n.nvmlDeviceGetFanSpeed(h)") == NOT_SUPPORTED
    nvml("n.nvmlShutdown()")
    assert nvml.code("n.nvmlDeviceGetFanSpeed(h)") == UNINITIALIZED


def test_a_card_says_who_it_is_and_that_it_is_simulated(make_cards: MakeCards, reader: StartGuest) -> None:
    cards = make_cards(count=2, memory_mib=8192)
    nvml = reader(cards)

    assert nvml("[n.nvmlSystemGetDriverVersion(), n.nvmlDeviceGetName(h)]") == ["simulated-1.0", "Simulated GPU 8GB"]
    assert nvml("[n.nvmlDeviceGetUUID(n.nvmlDeviceGetHandleByIndex(i)) for i in range(2)]") == [
        cards.uuid(0),
        cards.uuid(1),
    ]
    assert nvml("[n.nvmlDeviceGetIndex(h), n.nvmlDeviceGetMinorNumber(h)]") == [0, 0]
    assert nvml("n.nvmlSystemGetCudaDriverVersion_v2()") == 13050


def test_a_card_is_found_by_each_of_its_names(make_cards: MakeCards, reader: StartGuest) -> None:
    nvml = reader(make_cards(count=2))
    nvml("second = n.nvmlDeviceGetHandleByIndex(1)")
    nvml("pci = n.nvmlDeviceGetPciInfo(second)")
    same = "n.nvmlDeviceGetIndex({})"

    assert nvml(same.format("n.nvmlDeviceGetHandleByUUID(n.nvmlDeviceGetUUID(second))")) == 1
    assert nvml(same.format("n.nvmlDeviceGetHandleByPciBusId(pci.busId)")) == 1
    assert nvml(same.format("n.nvmlDeviceGetHandleBySerial(n.nvmlDeviceGetSerial(second))")) == 1
    assert nvml("[pci.busId, pci.busIdLegacy]") == ["00000000:02:00.0", "0000:02:00.0"]
    assert nvml.code("n.nvmlDeviceGetHandleByUUID('GPU-00000000')") == NOT_FOUND
    assert nvml.code("n.nvmlDeviceGetHandleByIndex(2)") == INVALID_ARGUMENT


def test_it_serves_from_the_first_init_to_the_last_shutdown(make_cards: MakeCards, reader: StartGuest) -> None:
    nvml = reader(make_cards())
    nvml("n.nvmlInit()")
    nvml("n.nvmlShutdown()")

    assert nvml("n.nvmlDeviceGetCount()") == 1
    nvml("n.nvmlShutdown()")
    assert nvml.code("n.nvmlDeviceGetCount()") == UNINITIALIZED
    assert nvml.code("n.nvmlShutdown()") == UNINITIALIZED


def test_without_cards_there_is_no_driver(make_cards: MakeCards, start: StartGuest) -> None:
    assert start(make_cards(count=0)).code("n.nvmlInit()") == DRIVER_NOT_LOADED


@pytest.mark.parametrize("name", READINGS)
def test_a_reading_is_what_the_operator_set(name: str, make_cards: MakeCards, reader: StartGuest) -> None:
    call, knobs, expected = READINGS[name]
    cards = make_cards()
    cards.set(0, **knobs)

    assert reader(cards)(call) == expected


def test_what_a_card_does_not_support_it_says_so(make_cards: MakeCards, reader: StartGuest) -> None:
    cards = make_cards()
    cards.set(0, **{f"unsupported_{name}": 1 for name in UNSUPPORTED})
    nvml = reader(cards)

    assert {nvml.code(call) for call in UNSUPPORTED.values()} == {NOT_SUPPORTED}


def test_memory_and_processes_follow_a_guest_and_its_death(
    make_cards: MakeCards, reader: StartGuest, user: StartGuest
) -> None:
    cards = make_cards(memory_mib=4096)
    nvml, guest = reader(cards), user(cards)
    guest(f"cuda.alloc({512 * MIB})")
    expected = (CONTEXT_MIB + 512) * MIB
    listed = [{"pid": guest.pid, "usedGpuMemory": expected, "gpuInstanceId": None, "computeInstanceId": None}]

    assert nvml.fields("n.nvmlDeviceGetMemoryInfo(h)")["used"] == expected
    assert nvml.fields("n.nvmlDeviceGetMemoryInfo(h, n.nvmlMemory_v2)")["free"] == 4096 * MIB - expected
    for abi in ("", "_v2", "_v3"):
        assert nvml(f"[vars(p) for p in n.nvmlDeviceGetComputeRunningProcesses{abi}(h)]") == [
            {name: 0xFFFFFFFF if value is None else value for name, value in listed[0].items()}
        ]
    assert nvml("n.nvmlDeviceGetGraphicsRunningProcesses(h)") == []
    guest.kill()
    assert nvml("n.nvmlDeviceGetComputeRunningProcesses(h)") == []
    assert nvml.fields("n.nvmlDeviceGetMemoryInfo(h)")["used"] == 0


def test_a_guest_that_reads_nvml_too_is_still_listed(make_cards: MakeCards, reader: StartGuest) -> None:
    cards = make_cards()
    nvml, both = reader(cards), reader(cards)
    both("cuda.start()")

    assert nvml("[p.pid for p in n.nvmlDeviceGetComputeRunningProcesses(h)]") == [both.pid]
    assert both("[p.pid for p in n.nvmlDeviceGetComputeRunningProcesses(h)]") == [both.pid]


def test_nvml_loaded_after_the_driver_takes_no_lock_away(make_cards: MakeCards, user: StartGuest) -> None:
    cards = make_cards()
    both, other = user(cards), user(cards)
    both("n.nvmlInit(); h = n.nvmlDeviceGetHandleByIndex(0)")
    other("n.nvmlInit(); h = n.nvmlDeviceGetHandleByIndex(0)")

    assert sorted(other("[p.pid for p in n.nvmlDeviceGetComputeRunningProcesses(h)]")) == sorted(  # type: ignore[call-overload]
        [both.pid, other.pid]
    )


def test_a_pid_is_told_as_the_reader_sees_it(make_cards: MakeCards, reader: StartGuest, user: StartGuest) -> None:
    if subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no pid namespaces here")
    cards = make_cards()
    nvml, inside = reader(cards), user(cards, "unshare", "--pid", "--fork")
    children = Path(f"/proc/{inside.process.pid}/task/{inside.process.pid}/children").read_text().split()

    listed = nvml("[p.pid for p in n.nvmlDeviceGetComputeRunningProcesses(h)]")
    os.kill(int(children[0]), signal.SIGKILL)

    assert inside.pid == 1
    assert listed == [int(children[0])]


def test_utilisation_is_the_share_of_the_last_period(
    make_cards: MakeCards, reader: StartGuest, user: StartGuest
) -> None:
    cards = make_cards(clock="virtual")
    nvml, guest = reader(cards), user(cards)

    guest("[(spin(50), sleep(50)) for _ in range(10)]")
    half = nvml.fields("n.nvmlDeviceGetUtilizationRates(h)")["gpu"]
    guest("spin(1000)")
    full = nvml.fields("n.nvmlDeviceGetUtilizationRates(h)")["gpu"]
    guest("sleep(1000)")

    assert 25 <= half <= 65  # a period of 167 ms holds between one and two spins of 50
    assert (full, nvml.fields("n.nvmlDeviceGetUtilizationRates(h)")["gpu"]) == (100, 0)


def test_a_card_was_busy_also_with_the_dead(make_cards: MakeCards, reader: StartGuest, user: StartGuest) -> None:
    cards = make_cards(clock="virtual")
    nvml, guest = reader(cards), user(cards)
    guest("spin(1000)")
    guest.kill()

    assert nvml("n.nvmlDeviceGetComputeRunningProcesses(h)") == []
    assert nvml.fields("n.nvmlDeviceGetUtilizationRates(h)")["gpu"] == 100


def test_samples_of_processes_are_told_once_and_in_whole_per_cent(
    make_cards: MakeCards, reader: StartGuest, user: StartGuest
) -> None:
    cards = make_cards(clock="virtual")
    nvml, guest, idle = reader(cards), user(cards), user(cards)
    guest("[(spin(30), sleep(70)) for _ in range(30)]")

    for call in ("nvmlDeviceGetProcessUtilization", "nvmlDeviceGetProcessesUtilizationInfo"):
        nvml(f"samples = n.{call}(h, 0)")
        assert nvml("[s.pid for s in samples]") == [guest.pid]
        assert abs(nvml.number("samples[0].smUtil") - 30) <= 3  # the first period began before the guest
        assert nvml.code(f"n.{call}(h, samples[0].timeStamp)") == NOT_FOUND
    guest("spin(400)")
    assert nvml("[s.smUtil for s in n.nvmlDeviceGetProcessUtilization(h, samples[0].timeStamp)]") != []
    assert idle.pid != guest.pid


def test_samples_are_forgotten_after_a_few_seconds(make_cards: MakeCards, reader: StartGuest, user: StartGuest) -> None:
    cards = make_cards(clock="virtual")
    nvml, guest = reader(cards), user(cards)
    guest("spin(500)")
    guest("sleep(4000)")
    kept = nvml.code("n.nvmlDeviceGetProcessUtilization(h, 0)")
    guest("sleep(2000)")

    assert (kept, nvml.code("n.nvmlDeviceGetProcessUtilization(h, 0)")) == (0, NOT_FOUND)


def test_energy_is_idle_power_and_what_work_adds(make_cards: MakeCards, reader: StartGuest, user: StartGuest) -> None:
    cards = make_cards(clock="virtual")
    cards.set(0, power_idle_mw=50_000, power_full_mw=250_000)
    nvml, guest = reader(cards), user(cards)
    energy = "n.nvmlDeviceGetTotalEnergyConsumption(h)"

    before = nvml.number(energy)
    guest("sleep(1000)")
    idle = nvml.number(energy) - before
    guest("spin(1000)")
    busy = nvml.number(energy) - before - idle

    assert abs(idle - 50_000) <= 500
    assert abs(busy - 250_000) <= 2500
    assert abs(nvml.number("n.nvmlDeviceGetPowerUsage(h)") - 250_000) <= 2500


def test_an_account_outlives_its_process(make_cards: MakeCards, reader: StartGuest, user: StartGuest) -> None:
    cards = make_cards(clock="virtual", memory_mib=4096)
    nvml = reader(cards)
    nvml("n.nvmlDeviceSetAccountingMode(h, 1)")
    guest = user(cards)
    guest(f"cuda.free(cuda.alloc({256 * MIB}))")
    guest("spin(500)")
    guest("sleep(500)")
    stats = f"n.nvmlDeviceGetAccountingStats(h, {guest.pid})"

    running = nvml.fields(stats)
    guest.kill()
    ended = nvml.fields(stats)

    assert (running["isRunning"], running["time"], ended["isRunning"]) == (1, 0, 0)
    assert ended["maxMemoryUsage"] == (CONTEXT_MIB + 256) * MIB
    assert abs(ended["gpuUtilization"] - 50) <= 2
    assert nvml("n.nvmlDeviceGetAccountingPids(h)") == [guest.pid]


def test_an_xid_wakes_who_waits_for_it(make_cards: MakeCards, reader: StartGuest) -> None:
    cards = make_cards(count=2)
    nvml = reader(cards)
    nvml("events = n.nvmlEventSetCreate()")
    nvml("[n.nvmlDeviceRegisterEvents(n.nvmlDeviceGetHandleByIndex(i), 0x8, events) for i in range(2)]")

    assert nvml.code("n.nvmlEventSetWait_v2(events, 0)") == TIMEOUT
    nvml.tell("data = n.nvmlEventSetWait_v2(events, 20000)")
    cards.set(1, xid=79)
    nvml.answer()
    assert nvml("[n.nvmlDeviceGetIndex(data.device), data.eventType, data.eventData]") == [1, 8, 79]
    assert nvml.code("n.nvmlEventSetWait_v2(events, 0)") == TIMEOUT


def test_links_join_pairs_of_cards(make_cards: MakeCards, reader: StartGuest) -> None:
    cards = make_cards(count=3)
    for card in range(3):
        cards.set(card, nvlinks=4, numa_node=card // 2)
    nvml = reader(cards)
    nvml("a, b, c = (n.nvmlDeviceGetHandleByIndex(i) for i in range(3))")

    assert nvml("[n.nvmlDeviceGetNvLinkState(a, link) for link in range(6)]") == [1, 1, 1, 1, 0, 0]
    assert nvml("n.nvmlDeviceGetNvLinkRemotePciInfo(a, 0).busId") == "00000000:02:00.0"
    assert nvml.code("n.nvmlDeviceGetNvLinkState(c, 0)") == NOT_SUPPORTED
    assert nvml("[n.nvmlDeviceGetTopologyCommonAncestor(a, x) for x in (b, c)]") == [30, 50]
    assert nvml("[n.nvmlDeviceGetP2PStatus(a, x, n.NVML_P2P_CAPS_INDEX_NVLINK) for x in (b, c)]") == [0, 5]


def test_a_lost_card_answers_nothing_else(make_cards: MakeCards, reader: StartGuest, start: StartGuest) -> None:
    cards = make_cards(count=2)
    nvml = reader(cards)
    cards.set(0, lost=1)

    assert nvml.code("n.nvmlDeviceGetName(h)") == GPU_IS_LOST
    assert nvml.code("n.nvmlDeviceGetHandleByIndex(0)") == GPU_IS_LOST
    guest = start(cards)
    guest("cuda.init()")
    assert guest('cuda.out("cuDeviceGetCount")') == 1


def test_modes_are_the_superusers(make_cards: MakeCards, reader: StartGuest) -> None:
    nvml = reader(make_cards())
    nvml("n.nvmlDeviceSetComputeMode(h, n.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS)")
    nvml("n.nvmlDeviceSetPersistenceMode(h, 0)")

    assert nvml("[n.nvmlDeviceGetComputeMode(h), n.nvmlDeviceGetPersistenceMode(h)]") == [3, 0]
    nvml("os.seteuid(65534)")
    assert nvml.code("n.nvmlDeviceSetComputeMode(h, 0)") == NO_PERMISSION
    assert nvml.code("n.nvmlDeviceSetMigMode(h, 1)") == NO_PERMISSION


def test_an_armed_fault_is_answered_as_often_as_it_was_armed(make_cards: MakeCards, reader: StartGuest) -> None:
    cards = make_cards()
    nvml = reader(cards)
    cards.set(0, **{"fail.nvmlDeviceGetTemperature": 15})  # once
    call = "n.nvmlDeviceGetTemperature(h, 0)"

    assert [nvml.code(call) for _ in range(2)] == [GPU_IS_LOST, 0]


def test_an_armed_fault_reaches_the_driver_too(make_cards: MakeCards, user: StartGuest) -> None:
    cards = make_cards()
    guest = user(cards)
    cards._control("set", "--card", "0", "fail.cuMemAlloc_v2=2:3")

    assert [guest.code(f"cuda.alloc({MIB})") for _ in range(4)] == [2, 2, 2, 0]
    with pytest.raises(GuestError):
        guest("cuda.nothing()")
