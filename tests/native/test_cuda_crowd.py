"""What careless frameworks and hostile tenants do to a process under the limiter: crowds of threads, objects used
after their end, absurd sizes; full tables, rubbish, vanished regions.

native/tests/cuda_crowd.c ends well whatever the driver answers; what stays charged afterwards is the question.
"""

import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.native.card_guest import NO_DEVICE, OK, OUT_OF_MEMORY, Guest, play
from tests.native.cards import Cards
from tests.native.conftest import CardRegion
from tests.native.guests import BUILD
from tests.native.region import MIB, OFFSETS, SIZES, SLOTS, Region

F_OFD_SETLK = 37
LIVE = 2


def crowd(cards: Cards, region: Region | None, *words: str) -> str:
    done = subprocess.run(
        [str(BUILD / "tests/cuda_crowd"), *words], env=cards.env(region), capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    "words",
    ["storm 8 40", "storm 70 4", "reset 8 100", "captures 60 50", "stale 4", "absurd"],
)
def test_whatever_a_program_does_nothing_stays_charged(card_region: CardRegion, words: str) -> None:
    cards, region = card_region(limit=2048 * MIB, ctx_bytes=300 * MIB)
    assert crowd(cards, region, *words.split()) == f"{words.split(maxsplit=1)[0]} ended\n"
    assert [region.used(kind) for kind in ("used_bytes", "host_bytes", "spill_bytes")] == [0, 0, 0]
    assert region.used("ctx_bytes") in (0, 300 * MIB)  # its slot goes when the next one comes


def test_an_end_of_a_capture_in_the_wrong_thread_lets_nothing_into_it(card_region: CardRegion) -> None:
    cards, region = card_region(limit=2048 * MIB)
    bare = crowd(cards, None, "wrong")
    assert bare == "refused=1 nodes=4 wrong ended\n"
    assert crowd(cards, region, "wrong") == bare


def test_programs_started_by_fork_and_vfork_live_by_themselves(card_region: CardRegion) -> None:
    cards, region = card_region(limit=2048 * MIB, ctx_bytes=300 * MIB)
    assert crowd(cards, region, "starts").endswith("0 0 0 starts ended\n")
    assert play(cards.env(region), "context 0") == [OK]
    assert region.used("ctx_bytes") == 300 * MIB  # of the one that asked last


@contextmanager
def full_table(region: Region, first: int = 0) -> Iterator[None]:
    """Every slot is taken while this lasts; then nobody of that pid lives."""
    namespace = Path("/proc/self/ns/pid").stat().st_ino
    with (region.path / "lock").open("r+b") as lock:
        held = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, first, SLOTS - first, 0)
        fcntl.fcntl(lock, F_OFD_SETLK, held)
        for slot in range(first, SLOTS):
            region.put("usage", region.slot_offset(slot, "ns_pid"), 1 << 30)
            region.put("usage", region.slot_offset(slot, "start_ticks"), 1)
            region.put("usage", region.slot_offset(slot, "pid_ns"), namespace)
            region.put("usage", region.slot_offset(slot, "state"), LIVE)
        yield


def test_the_257th_process_has_no_device_until_there_is_room(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as early, full_table(region, first=1):
        command = [str(BUILD / "tests/cuda_memory")]
        env = cards.env(region, VXPU_LOG="1")
        late = subprocess.run(command, env=env, input="alloc a 1m\n", capture_output=True, text=True, check=False)
        assert (late.returncode, late.stdout.split()) == (0, [str(NO_DEVICE)] * 2)
        assert "no free slot among 256" in late.stderr
        assert early.do("context 0", "alloc a 65m", "alloc a 64m") == [OK, OUT_OF_MEMORY, OK]


def test_one_that_was_turned_away_may_come_again(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with full_table(region):
        turned_away = Guest(cards.env(region))
        assert turned_away.init == [str(NO_DEVICE)]
    with turned_away as guest:
        assert guest.do("init", "context 0", "alloc a 65m", "alloc a 64m") == [OK, OK, OUT_OF_MEMORY, OK]


def test_who_holds_the_arbiter_and_sleeps_holds_nobody_else(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    with Guest(cards.env(region)) as guest, (region.path / "lock").open("r+b") as lock:
        held = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, SLOTS, 1, 0)
        fcntl.fcntl(lock, F_OFD_SETLK, held)
        assert guest.do("context 0", "alloc a 65m", "alloc a 64m") == [OK, OUT_OF_MEMORY, OK]


def test_rubbish_under_a_running_guest_refuses_and_ends_with_the_rubbish(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    begin = OFFSETS["vx_usage", "device"]
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 0", "alloc a 10m", "alloc b 10m") == [OK] * 3
        before = (region.path / "usage").read_bytes()
        for rubbish in (b"\xff", b"\x80\x00\x00"):
            with (region.path / "usage").open("r+b") as usage:
                usage.seek(begin)
                usage.write((rubbish * SIZES["vx_usage"])[: SIZES["vx_usage"] - begin])
            guest.do("alloc c 1m", "info", "free a", "alloc a 10m", "sync")
        with (region.path / "usage").open("r+b") as usage:
            usage.write(before)
        assert guest.do("free b", "alloc d 65m", "alloc d 30m") == [OK, OUT_OF_MEMORY, OK]
        assert guest.leave() == 0


def test_a_region_that_vanishes_holds_those_who_have_it_and_no_one_else(card_region: CardRegion) -> None:
    cards, region = card_region(limit=64 * MIB)
    env = cards.env(region)
    with Guest(env) as guest:
        assert guest.do("context 0", "alloc a 10m") == [OK, OK]
        shutil.rmtree(region.path)
        assert guest.do("alloc b 60m", "alloc b 50m", "free a", "free b") == [OUT_OF_MEMORY, OK, OK, OK]
        with Guest(env) as next_one:
            assert next_one.init == [str(NO_DEVICE)]
            assert next_one.do("context 0", "alloc a 1m") == [NO_DEVICE] * 2


def of_another_layout(region: Region) -> None:
    region.put("limits", OFFSETS["vx_limits", "version"], 3)


def usage_of_another_layout(region: Region) -> None:
    region.put("usage", OFFSETS["vx_usage", "version"], 1)


def truncated(region: Region) -> None:
    os.truncate(region.path / "limits", SIZES["vx_limits"] - 8)


def of_too_many_devices(region: Region) -> None:
    region.put("limits", OFFSETS["vx_limits", "device_count"], 1 << 40)


def limits_of_another_user(region: Region) -> None:
    os.chown(region.path / "limits", 12345, 12345)


@pytest.mark.parametrize(
    "damage",
    [of_another_layout, usage_of_another_layout, truncated, of_too_many_devices, limits_of_another_user],
    ids=lambda f: f.__name__,
)
def test_a_region_that_is_not_right_is_no_device(card_region: CardRegion, damage: Callable[[Region], None]) -> None:
    cards, region = card_region(limit=64 * MIB)
    damage(region)
    with Guest(cards.env(region)) as guest:
        assert guest.init == [str(NO_DEVICE)]
        assert guest.do("context 0", "alloc a 1m") == [NO_DEVICE] * 2
        assert guest.leave() == 0


@pytest.mark.parametrize(("limit", "fits"), [(0, 0), (1 << 63, 100), ((1 << 64) - 1, 100)])
def test_absurd_limits_are_kept_to_the_letter_or_to_the_card(card_region: CardRegion, limit: int, fits: int) -> None:
    cards, region = card_region(cards={"memory_mib": 1024}, limit=limit, share=1000)
    with Guest(cards.env(region)) as guest:
        assert guest.do("context 0", "alloc a 4096m") == [OK, OUT_OF_MEMORY]
        assert guest.do("alloc a 100m") == [OK if fits else OUT_OF_MEMORY]
        free, total = guest.figures("info")
        assert 0 <= free <= total <= 1024 * MIB
