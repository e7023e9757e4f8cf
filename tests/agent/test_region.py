"""The region on disk, and a guest that does its worst to its own files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agent import shm
from agent.region import Damaged, Region, RegionLimits
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
