"""Accounting between processes, without OpenCL (cases 5, 6, 7)."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Self

import pytest

from tests.native.conftest import MakeRegion
from tests.native.guests import BUILD, run, run_tool
from tests.native.region import MIB, Region

LedgerEnv = Callable[[Region], dict[str, str]]


class Ledger:
    """A ledger process that says what it got and waits for a line."""

    def __init__(self, env: dict[str, str], *args: str, program: Path = BUILD / "tests/ledger") -> None:
        command = [str(program), *args]
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go_on(self) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.line()


@pytest.mark.parametrize("processes", [2, 8])
def test_racers_near_the_limit_never_exceed_it_and_one_wins(
    make_region: MakeRegion, ledger_env: LedgerEnv, processes: int
) -> None:
    region = make_region(limit=1024 * MIB)
    rounds = 2000 if processes == 2 else 200
    out = run_tool("ledger", "race", str(processes), str(rounds), str(600 * MIB), env=ledger_env(region))
    assert out == "over=0 lonely=0"
    assert region.used() == 0


def test_a_killed_holders_bytes_come_back_at_the_next_would_be_refusal(
    make_region: MakeRegion, ledger_env: LedgerEnv
) -> None:
    region = make_region(limit=8 * MIB)
    with Ledger(ledger_env(region), "hold", str(8 * MIB)) as holder:
        assert holder.line() == "got=1 free=0"
        assert run_tool("ledger", "reserve", "4096", env=ledger_env(region)) == "got=0 free=0"
    assert run_tool("ledger", "reserve", str(8 * MIB), env=ledger_env(region)) == "got=1 free=0"


def test_a_zombie_counts_as_dead(make_region: MakeRegion, ledger_env: LedgerEnv) -> None:
    region = make_region(limit=8 * MIB)
    with Ledger(ledger_env(region), "hold", str(8 * MIB)) as holder:
        holder.line()
        holder.process.kill()
        os.waitid(os.P_PID, holder.process.pid, os.WEXITED | os.WNOWAIT)
        assert run_tool("ledger", "reserve", str(8 * MIB), env=ledger_env(region)) == "got=1 free=0"


def test_a_process_that_closed_all_descriptors_stays_counted(make_region: MakeRegion, ledger_env: LedgerEnv) -> None:
    region = make_region(limit=8 * MIB)
    with Ledger(ledger_env(region), "close", str(8 * MIB)) as daemon:
        assert daemon.line() == "got=1 free=0"
        assert run_tool("ledger", "reserve", "4096", env=ledger_env(region)) == "got=0 free=0"
        region.set(limit_bytes=24 * MIB)
        assert daemon.go_on() == f"got=1 free={8 * MIB}"
    assert run_tool("ledger", "reserve", str(24 * MIB), env=ledger_env(region)) == "got=1 free=0"


def test_an_orphaned_child_does_not_keep_its_parents_bytes(make_region: MakeRegion, ledger_env: LedgerEnv) -> None:
    region = make_region(limit=8 * MIB)
    with Ledger(ledger_env(region), "orphan", str(8 * MIB), str(3 * MIB)) as parent:
        assert parent.line() == "got=1 free=0"
        parent.process.wait(timeout=10)
        assert parent.line() == "orphaned"
        assert run_tool("ledger", "reserve", str(8 * MIB), env=ledger_env(region)) == "got=1 free=0"
        assert parent.go_on() == f"got=1 free={5 * MIB}"


def test_four_threads_near_the_limit_leave_nothing_behind(make_region: MakeRegion, ledger_env: LedgerEnv) -> None:
    region = make_region(limit=16 * 4096)
    assert run_tool("ledger", "threads", "300", env=ledger_env(region)) == "left=0"
    assert region.usage("peak_bytes") <= 16 * 4096


def test_slots_are_used_again(make_region: MakeRegion, ledger_env: LedgerEnv) -> None:
    region = make_region()
    for _ in range(3):
        run_tool("ledger", "reserve", "4096", env=ledger_env(region))
    assert len(region.live_slots()) <= 3
    assert region.used() <= 3 * 4096
    run_tool("ledger", "reserve", str(64 * MIB), env=ledger_env(region))
    assert len(region.live_slots()) == 1


def test_a_reused_pid_does_not_keep_the_dead_alive(make_region: MakeRegion, ledger_env: LedgerEnv) -> None:
    region = make_region(limit=8 * MIB)
    with Ledger(ledger_env(region), "hold", "4096") as living:
        living.line()
        slot = {field: region.get("usage", region.slot_offset(0, field)) for field in ("ns_pid", "pid_ns")}
        slot |= {"state": 2, "start_ticks": 1}  # the living one's pid, another's start time
        for field, value in slot.items():
            region.put("usage", region.slot_offset(1, field), value)
        region.put("usage", region.slot_device_offset(1, "used_bytes"), 8 * MIB)
        assert run_tool("ledger", "reserve", "4096", env=ledger_env(region)) == f"got=1 free={8 * MIB - 8192}"


def test_a_name_with_blanks_and_brackets_is_no_other_process(
    make_region: MakeRegion, ledger_env: LedgerEnv, tmp_path: Path
) -> None:
    region = make_region(limit=8 * MIB)
    odd = tmp_path / "a) S 1 (b"
    shutil.copy(BUILD / "tests/ledger", odd)
    with Ledger(ledger_env(region), "close", str(8 * MIB), program=odd) as daemon:
        daemon.line()
        assert run_tool("ledger", "reserve", "4096", env=ledger_env(region)) == "got=0 free=0"


def test_a_full_table_is_swept_before_a_newcomer_is_turned_away(make_region: MakeRegion, ledger_env: LedgerEnv) -> None:
    region = make_region()
    for index in range(256):
        region.put("usage", region.slot_offset(index, "state"), 1)
    assert run(["true"], ledger_env(region)).returncode == 0
    assert run_tool("ledger", "reserve", "4096", env=ledger_env(region)).startswith("got=1")


def test_rubbish_in_slots_refuses_memory_and_crashes_nobody(make_region: MakeRegion, ledger_env: LedgerEnv) -> None:
    region = make_region()
    with (region.path / "usage").open("r+b") as usage:
        usage.seek(32)
        usage.write(b"\xff" * 60_000)
    done = run([str(BUILD / "tests/ledger"), "reserve", "4096"], ledger_env(region))
    assert done.returncode in {0, 3}
    assert "got=1" not in done.stdout
