"""The region on disk, and a guest that does its worst to its own files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent import shm
from agent.region import CardLimits, Damaged, Published, Region, RegionLimits, card_uuid
from vxpu.units import MIB

LIMITS = RegionLimits(memory_mib=512, share_permille=250, compute_units=2, fencing_token=7)


@pytest.fixture
def region(tmp_path: Path) -> Region:
    made = Region(tmp_path / "61000", uid=os.geteuid())
    made.create(LIMITS)
    return made


def page(region: Region) -> shm.Limits:
    return shm.Limits.from_buffer_copy((region.folder / "limits").read_bytes())


def test_limits_are_written_whole_with_their_generation_last(region: Region) -> None:
    written = page(region)
    assert (written.magic, written.version, written.file_bytes) == (shm.LIMITS_MAGIC, shm.ABI_VERSION, 2176)
    assert (written.device_count, written.slot_count, written.fencing_token) == (1, shm.MAX_SLOTS, 7)
    device = written.device[0]
    assert (device.limit_bytes, device.share_permille, device.compute_units) == (512 * MIB, 250, 2)
    assert (device.gain_ppm, device.pause, device.gen, written.generation) == (1_000_000, 0, 1, 1)


def test_modes_leave_the_limits_to_the_agent(region: Region) -> None:
    modes = {path.name: path.stat().st_mode & 0o777 for path in region.folder.iterdir()}
    assert modes == {"limits": 0o644, "usage": 0o600, "lock": 0o600}
    assert region.folder.stat().st_mode & 0o777 == 0o755
    assert (region.folder / "lock").stat().st_size == shm.LOCK_FILE_BYTES


def test_a_resize_keeps_the_files_that_guests_have_mapped(region: Region) -> None:
    inodes = {path.name: path.stat().st_ino for path in region.folder.iterdir()}
    region.pause(paused=True)
    region.create(RegionLimits(memory_mib=256, share_permille=500, compute_units=2, fencing_token=7))
    device = page(region).device[0]
    assert {path.name: path.stat().st_ino for path in region.folder.iterdir()} == inodes
    assert (device.limit_bytes, device.share_permille, device.pause, device.gen) == (256 * MIB, 500, 1, 3)


def test_a_closed_region_says_so_and_removal_leaves_nothing(region: Region) -> None:
    region.close()
    assert page(region).flags == shm.FLAG_CLOSED
    region.remove()
    assert not region.folder.exists()
    region.close()


def test_live_slots_are_read_as_hints(region: Region) -> None:
    usage = shm.Usage.from_buffer_copy((region.folder / "usage").read_bytes())
    usage.slot[3].state, usage.slot[3].ns_pid, usage.slot[3].start_ticks = shm.SLOT_LIVE, 42, 999
    usage.slot[3].device[0].used_bytes = 5 * MIB
    usage.slot[4].ns_pid = 43
    (region.folder / "usage").write_bytes(bytes(usage))
    hints = region.read_hints()
    assert [(slot.ns_pid, slot.start_ticks) for slot in hints.slots] == [(42, 999)]
    assert hints.used_bytes == 5 * MIB


def truncate(usage: Path) -> None:
    os.truncate(usage, 100)


def grow(usage: Path) -> None:
    os.truncate(usage, 1 << 40)


def unlink(usage: Path) -> None:
    usage.unlink()


def link_to_a_secret(usage: Path) -> None:
    usage.unlink()
    usage.symlink_to("/etc/passwd")


def turn_into_a_pipe(usage: Path) -> None:
    usage.unlink()
    os.mkfifo(usage)


def fill_with_rubbish(usage: Path) -> None:
    usage.write_bytes(os.urandom(usage.stat().st_size))


@pytest.mark.parametrize(
    "harm", [truncate, grow, unlink, link_to_a_secret, turn_into_a_pipe, fill_with_rubbish], ids=lambda f: f.__name__
)
def test_whatever_the_guest_does_to_its_usage_file_is_a_fact_not_a_crash(
    region: Region, harm: Callable[[Path], None]
) -> None:
    harm(region.folder / "usage")
    with pytest.raises(Damaged, match="usage file"):
        region.read_hints()


CARD = CardLimits(
    card_uuid("GPU-01020304-0506-0708-090a-0b0c0d0e0f10"), physical_mib=24_576, context_mib=300, spill_mib=256,
    host_mib=64, copy_mib_s=2048, priority=2,
)  # fmt: skip


def test_a_card_has_its_own_words(tmp_path: Path) -> None:
    region = Region(tmp_path / "card", uid=os.geteuid())
    region.create(RegionLimits(512, 250, compute_units=1, fencing_token=7, card=CARD))
    device = page(region).device[0]
    assert (device.kind, device.uuid_high, device.uuid_low) == (1, 0x0102030405060708, 0x090A0B0C0D0E0F10)
    assert (device.soft_bytes, device.limit_bytes) == (512 * MIB, 768 * MIB)
    assert (device.physical_bytes, device.ctx_bytes, device.host_limit_bytes) == (24_576 * MIB, 300 * MIB, 64 * MIB)
    assert (device.copy_bytes_per_second, device.priority) == (2048 * MIB, 2)


def test_a_resize_keeps_what_was_learnt_of_a_running_guest(region: Region) -> None:
    region.publish(gain_ppm=420_000, overhead_bytes=3 * MIB, agent_debit_ns=9)
    region.lend(400, until_ns=123)
    region.write(LIMITS)
    assert region.read_published() == Published(420_000, 3 * MIB, 9, 400)
    region.publish(gain_ppm=1_000_000, overhead_bytes=0, agent_debit_ns=4)
    assert region.read_published().agent_debit_ns == 9  # a total: a reader takes a smaller one for a new region


def test_a_whole_device_is_left_alone(region: Region) -> None:
    region.write(RegionLimits(512, 1000, compute_units=1, fencing_token=7, inert=True))
    assert page(region).flags == shm.FLAG_INERT


def test_the_gate_is_read_without_the_slots(region: Region) -> None:
    with (region.folder / "usage").open("r+b") as opened:
        usage = shm.Usage.from_buffer_copy(opened.read())
        usage.device[0].budget_ns, usage.device[0].measured_ns, usage.device[0].waits = -5, 7, 3
        opened.seek(0)
        opened.write(bytes(usage))
    gate = region.read_gate()
    assert (gate.budget_ns, gate.measured_ns, gate.waits) == (-5, 7, 3)
    (region.folder / "usage").write_bytes(b"")
    with pytest.raises(Damaged):
        region.read_gate()


@pytest.mark.parametrize("text", ["", "GPU-", "GPU-xyz", "nvidia"])
def test_no_uuid_is_said(text: str) -> None:
    with pytest.raises(ValueError, match="UUID"):
        card_uuid(text)


def test_unknown_variants_are_withheld_where_the_operator_says_so(region: Region) -> None:
    for strict in (True, False):
        limits = replace(LIMITS, card=replace(CARD, strict_symbols=strict))
        region.write(limits)
        assert page(region).flags == (shm.FLAG_STRICT_SYMBOLS if strict else 0)
