"""One CPU is one device, whatever drivers are installed; what cannot be read is not zero."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from agent.devices import opencl
from agent.devices.inventory import Inventory
from agent.devices.nvidia import NvidiaPort
from agent.devices.opencl import Found, OpenClPort, ask_driver, card_device, cpu_device, driver_libraries
from agent.devices.port import Badge, less_reserve, measured
from tests.agent.bench import make_config
from vxpu.states import DeviceKind, Isolation, Quality
from vxpu.units import MIB

NOW = datetime(2026, 12, 1, tzinfo=UTC)
POCL = Found("/usr/lib/libpocl.so.2", "cpu", "pthread-x", "GenuineIntel", compute_units=8, memory_mib=4000)
CARD = Found("/usr/lib/libamd.so", "gpu", "gfx942", "AMD", compute_units=304, memory_mib=196608)


def test_two_drivers_that_show_the_processor_make_one_device() -> None:
    twin = Found("/venv/libpocl.so", "cpu", "cpu-x", "GenuineIntel", compute_units=8, memory_mib=3000)
    device = cpu_device([POCL, twin], 250)
    assert (device.kind, device.icd, device.compute_units) == (DeviceKind.CPU, POCL.icd, 8)
    assert device.key == f"cpu:{opencl.machine_hash()}"
    assert (device.capacity_mib, device.capacity_permille) == (min(4000, device.memory_mib) * 3 // 4, 750)


def test_a_machine_without_drivers_sells_its_processor_all_the_same() -> None:
    device = cpu_device([], 100)
    assert device.capacity_mib == less_reserve(psutil.virtual_memory().total // MIB, 100)
    assert "no OpenCL driver" in device.note


def test_a_card_behind_a_generic_driver_is_never_called_strict() -> None:
    report = card_device(CARD, 0).report(isolation=Isolation.STRICT, detail="own uid")
    assert (report.kind, report.isolation) == (DeviceKind.OPENCL, Isolation.ADVISORY)
    assert report.isolation_detail == "no meter outside the guest for this card; own uid"


def test_a_cards_mode_says_what_is_enforced_in_place_of_the_machines() -> None:
    badge = Badge(Isolation.MPS, "side by side")
    report = card_device(CARD, 0).report(isolation=Isolation.STRICT, detail="own uid", badge=badge)
    assert report.isolation == Isolation.MPS
    assert report.isolation_detail == "no meter outside the guest for this card; side by side"
    assert report.card is None


def test_this_machines_drivers_are_asked_in_an_empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = driver_libraries()
    if not libraries:
        pytest.skip("no OpenCL driver is installed here")
    monkeypatch.setenv("POCL_MAX_PTHREAD_COUNT", "1")
    monkeypatch.setenv("POCL_MEMORY_LIMIT", "1")
    found = [device for library in libraries for device in ask_driver(library) if device.type == "cpu"]
    assert found
    assert found[0].compute_units == len(psutil.Process().cpu_affinity() or [])
    assert found[0].memory_mib > 1024


@pytest.mark.parametrize("library", ["/nonexistent.so", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/etc/passwd"])
def test_a_driver_that_is_none_shows_nothing(library: str) -> None:
    assert ask_driver(library) == []


def test_an_unsupported_reading_is_unavailable_and_not_zero() -> None:
    port = OpenClPort(reserve_permille=250)
    readings = port.read(cpu_device([POCL], 250), at=NOW)
    assert readings["power_mw"] == measured(None, at=NOW)
    assert (readings["power_mw"].value, readings["power_mw"].quality) == (None, Quality.UNAVAILABLE)
    assert readings["memory_used_mib"].quality == Quality.MEASURED
    assert port.read(card_device(CARD, 0), at=NOW)["utilization_permille"].value is None


def test_nvidia_without_a_driver_is_an_empty_door() -> None:
    port = NvidiaPort()
    if port.is_open:
        pytest.skip("this machine has an NVIDIA driver")
    assert port.discover() == []


def test_what_was_sold_stays_while_hardware_and_driver_do(tmp_path: Path) -> None:
    config = make_config(tmp_path)
    config.state_dir.mkdir()
    first = Inventory(config)
    first.discover()
    (cpu,) = [device for device in first.devices.values() if device.kind == DeviceKind.CPU]
    saved = json.loads((config.state_dir / "devices.json").read_text())
    saved[cpu.key]["capacity_mib"] = 77
    (config.state_dir / "devices.json").write_text(json.dumps(saved))
    again = Inventory(config)
    again.discover()
    assert again.devices[cpu.key].capacity_mib == 77
    saved[cpu.key]["hardware"] = ["another driver", 1, 1]
    (config.state_dir / "devices.json").write_text(json.dumps(saved))
    again.discover()
    assert again.devices[cpu.key].capacity_mib != 77
