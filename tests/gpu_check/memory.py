"""Steps about memory and the driver: facts, look-ups, the cap over every class, races, suspend."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime

from tests.gpu_check.bench import NATIVE, Bench, Slice, Trouble, words
from tests.gpu_check.share import Facts
from tests.native.cuda_classes import CLASSES

OUT_OF_MEMORY = 2
MIB = 1 << 20


def facts(bench: Bench) -> Facts:
    """What the driver and NVML say of the card; what they keep back is left out."""
    device, card = bench.device, bench.device.card
    readings = bench.door.read(device, at=datetime.now(UTC))
    return {
        "card": device.model, "simulated": device.simulated, "memory_mib": device.memory_mib,
        "driver": card.driver_version if card else "", "cuda": card.cuda_version if card else "",
        "readings": {name: one.value for name, one in readings.items() if one.value is not None},
        "processes_listed": bench.door.process_memory(device) is not None,
        "processes_sampled": bench.door.process_busy(device, 0) is not None,
    }  # fmt: skip


def _client(bench: Bench, *args: str, within: Slice | None = None) -> list[dict[str, object]]:
    env = within.env if within else None
    out = bench.run(sys.executable, "-m", "tests.native.cuda_client", *args, env=env)
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def identity(bench: Bench) -> Facts:
    """Each look-up of a recorded runtime, with and without the limiter: native answers, or our wrapper of the same."""
    plain = _look_ups(bench, None)
    limited = _look_ups(bench, bench.slice())
    wrapped = sum(1 for one in limited if one["ours"])
    wrong = [one["asked"] for one, native in zip(limited, plain, strict=True) if not _is_same(one, native)]
    return {"look_ups": len(plain), "wrapped": wrapped, "not_by_identity": wrong[:10], "ok": not wrong and wrapped > 0}


def _is_same(limited: dict[str, object], native: dict[str, object]) -> bool:
    """Names are known only where a library exports them; what both export must be the same variant."""
    named = limited["name"] and native["name"]
    return (limited["code"], limited["status"]) == (native["code"], native["status"]) and (
        not named or limited["name"] == native["name"]
    )


def _look_ups(bench: Bench, within: Slice | None) -> list[dict[str, object]]:
    out = bench.run(sys.executable, "-m", "tests.gpu_check.look_ups", env=within.env if within else None)
    found: list[dict[str, object]] = json.loads(out)
    return found


def cap(bench: Bench) -> Facts:
    """Every class of memory, in pieces of 64 MiB until the driver refuses: what a slice of 2 GiB gave out."""
    limit_mib = min(2048, bench.device.memory_mib // 2)
    rows: dict[str, object] = {}
    over = []
    for name in (one.name for one in CLASSES.values() if one.on_card):
        held = bench.slice(memory_mib=limit_mib)
        try:
            row = _client(bench, "--fill", name, "--mib", "64", within=held)[-1]
        except Trouble as error:
            rows[name] = str(error)
            continue
        got_mib = int(str(row["count"])) * 64
        rows[name] = {"got_mib": got_mib, "code": row["code"]}
        if got_mib > limit_mib or row["code"] != OUT_OF_MEMORY:
            over.append(name)
    return {"limit_mib": limit_mib, "classes": rows, "over": over, "ok": not over}


def race(bench: Bench, *, rounds: int) -> Facts:
    """Two programs ask for 600 MiB of 1 GiB at once, again and again: never both, never neither."""
    both = neither = 0
    for _ in range(rounds):
        held = bench.slice(memory_mib=1024)
        guests = [_ask(bench, held, 600 * MIB) for _ in range(2)]
        got = sum(_answer(guest) for guest in guests)
        for guest in guests:
            guest.kill()
            guest.communicate()
        both += got == 2
        neither += got == 0
    return {"rounds": rounds, "both": both, "neither": neither, "ok": not both and not neither}


def _ask(bench: Bench, within: Slice, size: int) -> subprocess.Popen[str]:
    """A program that asks for so much at once and keeps what it got until it is killed."""
    return bench.start(sys.executable, "-m", "tests.gpu_check.ask", str(size), env=within.env)


def _answer(guest: subprocess.Popen[str]) -> int:
    line = guest.stdout.readline() if guest.stdout is not None else ""
    if line not in {"0\n", "1\n"}:
        raise Trouble(f"no answer from the program: {line!r}")
    return int(line)


def hook_cost(bench: Bench) -> Facts:
    """Nanoseconds a call of launch, allocation (with its free) and copy, bare and limited, in turns."""
    rows = {}
    for what, count in (("launch", 20_000), ("alloc", 5_000), ("copy", 5_000)):
        pairs = [(_call_ns(bench, what, count, None), _call_ns(bench, what, count, bench.slice())) for _ in range(3)]
        bare, limited = (statistics.median(side) for side in zip(*pairs, strict=True))
        rows[what] = {"bare_ns": bare, "limited_ns": limited, "added_ns": round(limited - bare, 1)}
    return {"calls": rows}


def _call_ns(bench: Bench, what: str, count: int, within: Slice | None) -> float:
    env = within.env if within else None
    return words(bench.run(str(NATIVE / "tests/cuda_hook"), what, str(count), env=env))["ps"] / 1000


def suspend(bench: Bench, *, mib: int) -> Facts:
    """Checkpoint a program that holds memory, and bring it back: seconds each, and what the card held meanwhile."""
    held = bench.slice(memory_mib=mib + 1024)
    guest = _ask(bench, held, mib * MIB)
    if not _answer(guest):
        raise Trouble(f"{mib} MiB were refused")
    held_mib = _on_card_mib(bench, guest.pid)
    away_s = _checkpoint(bench, "suspend", guest.pid)
    away_mib = _on_card_mib(bench, guest.pid)
    back_s = _checkpoint(bench, "resume", guest.pid)
    return {"mib": mib, "suspend_s": away_s, "resume_s": back_s, "held_mib": held_mib, "held_while_away_mib": away_mib,
            "back_mib": _on_card_mib(bench, guest.pid)}  # fmt: skip


def _checkpoint(bench: Bench, what: str, pid: int) -> float:
    began = time.monotonic()
    answer = json.loads(bench.run(sys.executable, "-m", "agent.checkpoint", what, "10000", str(pid)))
    if not answer["done"]:
        raise Trouble(f"{what}: {answer['why']}")
    return round(time.monotonic() - began, 2)


def _on_card_mib(bench: Bench, pid: int) -> int:
    return ((bench.door.process_memory(bench.device) or {}).get(pid) or 0) // MIB
