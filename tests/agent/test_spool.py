"""What was written survives a cut at any byte, and a full disk drops nothing that was written."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.spool import Spool


def window(number: int) -> dict[str, str]:
    return {f"lse_a/{number}": f'{{"window":{number}}}'}


def filled(folder: Path, *, windows: int = 3, segment_bytes: int = 1 << 20) -> Spool:
    spool = Spool(folder, segment_bytes=segment_bytes)
    for number in range(windows):
        spool.record_windows("lse_a", {"closed": number}, window(number))
    return spool


def test_events_come_back_in_order_until_they_are_acknowledged(tmp_path: Path) -> None:
    filled(tmp_path).close()
    spool = Spool(tmp_path)
    assert spool.batch(2) == [("lse_a/0", '{"window":0}'), ("lse_a/1", '{"window":1}')]
    spool.acknowledge(["lse_a/0", "lse_a/1", "lse_a/9"])
    spool.close()
    again = Spool(tmp_path)
    assert [identity for identity, _ in again.batch(10)] == ["lse_a/2"]
    assert again.meters == {"lse_a": {"closed": 2}}


def test_a_cut_at_any_byte_leaves_window_and_meter_together(tmp_path: Path) -> None:
    filled(tmp_path / "whole").close()
    raw = (tmp_path / "whole" / "00000001.seg").read_bytes()
    for cut in range(len(raw) + 1):
        folder = tmp_path / "cut"
        folder.mkdir(exist_ok=True)
        (folder / "00000001.seg").write_bytes(raw[:cut])
        spool = Spool(folder)
        count = spool.pending_count
        assert spool.meters == ({"lse_a": {"closed": count - 1}} if count else {})
        spool.record_windows("lse_a", {"closed": count}, window(count))
        spool.close()
        assert Spool(folder).pending_count == count + 1


def test_a_flipped_bit_is_noticed_and_said(tmp_path: Path) -> None:
    filled(tmp_path).close()
    segment = tmp_path / "00000001.seg"
    raw = bytearray(segment.read_bytes())
    raw[-3] ^= 1
    segment.write_bytes(raw)
    spool = Spool(tmp_path)
    assert spool.pending_count == 2
    assert "spool_torn" in spool.troubles[0]


def test_old_segments_go_when_acknowledged_and_meters_stay(tmp_path: Path) -> None:
    spool = filled(tmp_path, windows=40, segment_bytes=300)
    assert len(list(tmp_path.glob("*.seg"))) > 5
    spool.acknowledge([f"lse_a/{number}" for number in range(40)])
    spool.record_meter("lse_a", {"closed": 39})
    spool.close()
    again = Spool(tmp_path, segment_bytes=300)
    assert len(list(tmp_path.glob("*.seg"))) <= 2
    assert (again.pending_count, again.meters) == (0, {"lse_a": {"closed": 39}})


def test_a_lease_that_ended_leaves_its_windows_only(tmp_path: Path) -> None:
    spool = filled(tmp_path)
    spool.record_last("lse_a", window(3))
    spool.close()
    again = Spool(tmp_path)
    assert (again.pending_count, again.meters) == (4, {})


@settings(max_examples=40, deadline=None)
@given(st.lists(st.one_of(st.just("add"), st.just("ack"), st.just("restart")), max_size=30))
def test_any_order_of_adding_acknowledging_and_restarting_keeps_the_rest(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    spool, expected, number = Spool(folder, segment_bytes=200), [], 0
    for step in steps:
        if step == "add":
            spool.record_windows("lse_a", {"closed": number}, window(number))
            expected.append(f"lse_a/{number}")
            number += 1
        elif step == "ack":
            spool.acknowledge(expected[:2])
            del expected[:2]
        else:
            spool.close()
            spool = Spool(folder, segment_bytes=200)
        assert [identity for identity, _ in spool.batch(100)] == expected
    spool.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def test_a_full_disk_keeps_what_was_written_says_so_and_recovers(small_disk: Path) -> None:
    spool = filled(small_disk / "spool")
    ballast = small_disk / "ballast"
    with pytest.raises(OSError, match="No space"):
        ballast.write_bytes(bytes(1 << 20))
    for number in range(3, 100):
        spool.record_windows("lse_a", {"closed": number, "pad": "x" * 100}, window(number))
    assert spool.is_full
    assert "No space left" in spool.troubles[0]
    assert [identity for identity, _ in spool.batch(1000)] == [f"lse_a/{number}" for number in range(100)]
    ballast.unlink()
    spool.record_windows("lse_a", {"closed": 100}, window(100))
    spool.close()
    assert Spool(small_disk / "spool").pending_count == 101


def test_a_disk_that_stays_full_bounds_the_memory_and_counts_the_loss(small_disk: Path) -> None:
    spool = filled(small_disk / "spool")
    with pytest.raises(OSError, match="No space"):
        (small_disk / "ballast").write_bytes(bytes(1 << 20))
    for number in range(3, 1000):
        spool.record_windows("lse_a", {"closed": number, "pad": "x" * 200}, window(number))
    assert spool.pending_count + spool.dropped == 1000
    assert spool.dropped > 0
    assert [identity for identity, _ in spool.batch(3)] == ["lse_a/0", "lse_a/1", "lse_a/2"]
    assert any("spool_overflow" in trouble for trouble in spool.troubles)
