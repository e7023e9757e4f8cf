"""The door to NVML on simulated cards: what a card has, what it lacks, and a driver that comes and goes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent.devices.nvidia import CardEvent, NvidiaPort
from agent.devices.nvml import REOPEN_S, Nvml
from agent.devices.port import Device
from tests.agent.bench import wait_for
from tests.agent.cards import Cards, build_fake
from vxpu.states import DeviceKind, Isolation, Quality
from vxpu.units import MIB
from vxpu.wire.node import DeviceReport

NOW = datetime(2026, 12, 1, tzinfo=UTC)
UNINITIALIZED = 1
EVERY = ("temperature", "power", "energy", "clocks", "throttle", "ecc", "utilization", "processes", "nvlink", "mig",
         "process_utilization", "events", "pcie")  # fmt: skip


@pytest.fixture
def cards(tmp_path: Path) -> Cards:
    build_fake()
    return Cards.create(tmp_path / "cards", 2)


def values(port: NvidiaPort, device: Device) -> dict[str, int | None]:
    return {name: reading.value for name, reading in port.read(device, at=NOW).items()}


def test_a_card_is_described_and_called_simulated(cards: Cards) -> None:
    first, second = cards.run(lambda: NvidiaPort().discover())
    assert (first.kind, first.model, first.simulated) == (DeviceKind.NVIDIA, "Simulated GPU 24GB", True)
    assert first.key == f"nvidia:{first.uuid}"
    assert first.uuid == cards.list()[0]["uuid"]
    assert (first.memory_mib, first.capacity_permille, first.time_units) == (24576, 1000, 1)
    assert first.nodes == (f"{cards.folder}/vxpu-fake0", f"{cards.folder}/vxpu-fake-clock")
    assert first.card is not None
    assert second.card is not None
    assert first.card.driver_version.startswith("simulated")
    assert first.card.pci_bus_id != second.card.pci_bus_id
    report = first.report(isolation=Isolation.STRICT, detail="")
    assert DeviceReport.model_validate_json(report.model_dump_json()).card == first.card


def test_cards_tell_how_they_reach_each_other(cards: Cards) -> None:
    cards.set(0, nvlinks=4)
    cards.set(1, nvlinks=4)
    found = {device.uuid: device.card for device in cards.run(lambda: NvidiaPort().discover())}
    one, two = found
    card = found[one]
    assert card is not None
    (link,) = card.links
    assert (link.peer, link.nvlinks) == (two, 4)
    assert link.pcie is not None


def test_readings_are_what_the_card_says(cards: Cards) -> None:
    cards.set(temperature_c=71, power_mw=250_000, ecc_uncorrected=3, throttle_reasons=4, clock_sm_mhz=1200)
    read = cards.run(with_port(values))
    assert {name: read[name] for name in ("temperature_c", "power_mw", "ecc_uncorrected", "throttle_reasons")} == {
        "temperature_c": 71, "power_mw": 250_000, "ecc_uncorrected": 3, "throttle_reasons": 4,
    }  # fmt: skip
    assert (read["sm_clock_mhz"], read["mig_enabled"], read["xid_last"]) == (1200, 0, None)
    assert read["memory_used_mib"] is not None


def test_what_a_card_repaired_and_how_it_is_linked_is_read(cards: Cards) -> None:
    cards.set(remapped_corrected=1, remapped_uncorrected=2, remapped_pending=1, pcie_width=16)
    read = cards.run(with_port(values))
    assert [read[f"memory_{name}"] for name in ("repairs", "repair_pending", "repair_failed")] == [3, 1, 0]
    assert (read["pcie_width"], read["pcie_width_max"], read["nvlink_errors"]) == (16, 16, None)
    assert read["sm_clock_max_mhz"] is not None
    cards.set(unsupported_remapped=1, retired_single=3, retired_double=1)
    read = cards.run(with_port(values))
    assert [read[f"memory_{name}"] for name in ("repairs", "repair_pending", "repair_failed")] == [4, 0, 0]


def test_what_a_card_does_not_support_is_unavailable_and_never_zero(cards: Cards) -> None:
    cards.set(**{f"unsupported_{what}": 1 for what in EVERY})

    def look() -> Any:
        port = NvidiaPort()
        device = port.discover()[0]
        return port.read(device, at=NOW), device.card, port.process_memory(device), port.process_busy(device, 0)

    readings, card, memory, busy = cards.run(look)
    missing = {name for name, reading in readings.items() if reading.quality == Quality.UNAVAILABLE}
    assert missing >= {"temperature_c", "power_mw", "energy_mj", "sm_clock_mhz", "ecc_uncorrected",
                       "utilization_permille", "throttle_reasons", "mig_enabled", "xid_last"}  # fmt: skip
    assert all(readings[name].value is None for name in missing)
    assert (card.mig, memory, busy) == (None, None, None)


def test_an_xid_is_an_event_once_and_a_reading_from_then_on(cards: Cards) -> None:
    def look() -> Any:
        port = NvidiaPort()
        device = port.discover()[0]
        quiet = (values(port, device)["xid_last"], port.take_events())
        cards.set(xid=79)
        loud = (values(port, device)["xid_last"], port.take_events())
        return quiet, loud, (values(port, device)["xid_last"], port.take_events()), device.key

    quiet, loud, after, key = cards.run(look)
    assert quiet == (None, [])
    assert loud == (79, [CardEvent(key, "xid: the driver reported Xid 79")])
    assert after == (79, [])


def test_a_card_that_falls_off_the_bus_reads_unavailable_and_comes_back(cards: Cards) -> None:
    def look() -> Any:
        clock = Clock()
        port = NvidiaPort(Nvml(clock))
        first, second = port.discover()
        cards.set(0, lost=1)
        lost = values(port, first), port.take_events(), values(port, second)["temperature_c"]
        again = values(port, first)["temperature_c"], port.take_events()
        cards.set(0, lost=0)
        clock.now += REOPEN_S
        return lost, again, values(port, first)["temperature_c"], port.take_events()

    (lost, events, other), again, back, at_last = cards.run(look)
    assert set(lost.values()) == {None}
    assert [event.text.partition(":")[0] for event in events] == ["card_gone"]
    assert other == 45
    assert again == (None, [])
    assert (back, [event.text for event in at_last]) == (45, ["card_back: the card answers again"])


def test_a_driver_that_was_reloaded_is_opened_again_at_once(cards: Cards) -> None:
    def look() -> Any:
        clock = Clock()
        port = NvidiaPort(Nvml(clock))
        device = port.discover()[0]
        clock.now += REOPEN_S
        cards.set(**{"fail.nvmlDeviceGetTemperature": UNINITIALIZED})
        reloaded = values(port, device)["temperature_c"], port.nvml.generation
        cards.set(**{"fail.nvmlDeviceGetTemperature": UNINITIALIZED})
        gone = values(port, device)["temperature_c"], [event.text for event in port.take_events()]
        return reloaded, gone, values(port, device)["temperature_c"], [event.text for event in port.take_events()]

    reloaded, gone, back, events = cards.run(look)
    assert reloaded == (45, 2)
    assert gone == (None, ["card_gone: Uninitialized"])
    assert (back, events) == (45, ["card_back: the card answers again"])


def test_a_lost_card_does_not_hide_the_others(cards: Cards) -> None:
    cards.set(0, lost=1)
    assert [device.uuid for device in cards.run(lambda: NvidiaPort().discover())] == [cards.list()[1]["uuid"]]


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def __call__(self) -> float:
        return self.now


def with_port(story: Callable[[NvidiaPort, Device], Any]) -> Callable[[], Any]:
    def run() -> Any:
        port = NvidiaPort()
        return story(port, port.discover()[0])

    return run


def test_an_idle_card_has_no_processes(cards: Cards) -> None:
    assert cards.run(with_port(lambda port, device: port.process_memory(device))) == {}
    assert cards.run(with_port(lambda port, device: port.process_busy(device, 0))) == []


def test_a_process_is_seen_with_its_memory_and_its_time(cards: Cards) -> None:
    def story(port: NvidiaPort, device: Device) -> Any:
        command = [sys.executable, str(Path(__file__).with_name("card_client.py")), "100", "400000000"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as guest:
            assert guest.stdout is not None
            assert guest.stdout.readline() == "ready\n"
            memory = port.process_memory(device)
            samples = wait_for(lambda: port.process_busy(device, 0), what="a sample of the guest")
            later = port.process_busy(device, samples[-1].at_us)
            guest.communicate()
        return guest.pid, memory, samples, later, wait_for(lambda: port.process_memory(device) == {})

    pid, memory, samples, later, _ = cards.run(with_port(story))
    assert list(memory) == [pid]
    assert memory[pid] >= 100 * MIB
    assert {sample.pid for sample in samples} == {pid}
    assert all(0 < sample.sm_permille <= 1000 for sample in samples)
    assert all(sample.at_us > samples[-1].at_us for sample in later)


def test_no_cards_and_no_driver_are_empty_doors(cards: Cards, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    assert Cards(tmp_path / "none").run(lambda: NvidiaPort().discover()) == []
