"""Steps about compute: shares alone and side by side, resize while running, lending, kill -9."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence

from tests.gpu_check.bench import Bench, Slice, Trouble, wait_for, words

Facts = dict[str, object]
MS = 1_000_000
# One kernel at a time, as the name says: (kernel ns, waits for each, kernels a launch)
PATTERNS = {
    "5us": ("steady", 5_000, 0, 1),
    "5ms": ("steady", 5 * MS, 1, 1),
    "graph of 100": ("graph", 20_000, 1, 100),
    "300ms": ("steady", 300 * MS, 1, 1),
}
SHARES = (100, 250, 500, 750)


def calibrate(bench: Bench) -> Facts:
    """How many steps of the kernel last a nanosecond, alone: every later length is by this."""
    steps = 1_000_000
    for _ in range(3):
        told = words(bench.finish(bench.work("steady", ns=steps, sync=1, ms=500)))
        each_ns = told["wall_ns"] / max(1, told["launches"])
        steps = max(1000, int(steps * 5 * MS / each_ns))
    found = steps / (5 * MS)
    if not bench.device.simulated:  # there a step is a nanosecond by definition; what is more is our own waking up
        bench.steps_per_ns = found
    return {"steps_per_ns": round(found, 4), "kernel_ms": 5}


def _got_percent(bench: Bench, told: dict[str, int], *, ns: int, wall_ns: int) -> float:
    return round(bench.device_ns(told, ns=ns) * 100 / wall_ns, 1)


def share_alone(bench: Bench, *, seconds: float, shares: Sequence[int] = SHARES) -> Facts:
    """10, 25, 50 and 75 % of the card for four kinds of work, nobody else on it."""
    rows: dict[str, dict[str, float]] = {}
    for name, (pattern, ns, sync, kernels) in PATTERNS.items():
        rows[name] = {}
        # A 300 ms kernel at 10 % is one launch in three seconds: its row needs more of them.
        ms = int(1000 * seconds * (5 if ns >= 100 * MS else 1))
        for share in shares:
            held = bench.slice(share_permille=share)
            began = time.monotonic_ns()
            guest = bench.work(pattern, held, ns=ns, sync=sync, kernels=kernels, ms=ms)
            told = wait_for(bench, {guest: held}, gain=True)[0]
            wall_ns = told.get("wall_ns") or time.monotonic_ns() - began
            rows[name][f"{share / 10:g}%"] = _got_percent(bench, told, ns=ns, wall_ns=wall_ns)
    return {"got_percent": rows}


def _side_by_side(bench: Bench, asked: list[tuple[int, int]], *, seconds: float, gain: bool) -> list[float]:
    guests = {}
    for share, ns in asked:
        held = bench.slice(share_permille=share, memory_mib=bench.device.memory_mib // len(asked))
        guests[bench.work("steady", held, ns=ns, ms=int(1000 * seconds))] = held
    told = wait_for(bench, guests, gain=gain)
    return [_got_percent(bench, one, ns=ns, wall_ns=one["wall_ns"]) for one, (_, ns) in zip(told, asked, strict=True)]


def share_together(bench: Bench, *, seconds: float) -> Facts:
    """30/70 and four quarters, with the agent's gain and without it."""
    pairs = {"30/70": [(300, 200_000), (700, 200_000)],
             "25x4": [(250, 200_000), (250, 1 * MS), (250, 5 * MS), (250, 20 * MS)]}  # fmt: skip
    return {
        name: {"with gain": _side_by_side(bench, asked, seconds=2 * seconds, gain=True),
               "without": _side_by_side(bench, asked, seconds=seconds, gain=False)}
        for name, asked in pairs.items()
    }  # fmt: skip


def _launches(held: Slice) -> int:
    return held.region.read_gate().launches


def resize_running(bench: Bench, *, seconds: float) -> Facts:
    """From 10 % to 80 % while it runs: how soon launches go faster."""
    held = bench.slice(share_permille=100)
    guest = bench.work("steady", held, ns=1 * MS, sync=1, ms=int(1000 * (seconds + 3)))
    _until_running(held)
    time.sleep(seconds / 2)
    before = _rate(held, 0.5)
    held.resize(share_permille=800)
    began = time.monotonic()
    while (rate := _rate(held, 0.05)) < 2 * before and time.monotonic() - began < 2:
        pass
    seen_ms = round((time.monotonic() - began) * 1000)
    bench.finish(guest)
    return {"launches_per_s_before": round(before), "after": round(rate), "seen_after_ms": seen_ms}


def lend_and_return(bench: Bench, *, seconds: float) -> Facts:
    """Idle time lent on top of 20 % for 100 ms at a time; when the lender stops, it lapses by itself."""
    held = bench.slice(share_permille=200)
    guest = bench.work("steady", held, ns=1 * MS, sync=1, ms=int(1000 * (seconds + 3)))
    _until_running(held)
    alone = _rate(held, 0.5)
    for _ in range(10):
        held.region.lend(600, until_ns=time.monotonic_ns() + 100 * MS)
        time.sleep(0.05)
    lent = _rate_lending(held)
    began = time.monotonic()
    while _rate(held, 0.04) > 1.5 * alone and time.monotonic() - began < 2:
        pass
    back_ms = round((time.monotonic() - began) * 1000)
    bench.finish(guest)
    return {"launches_per_s": round(alone), "while_lent": round(lent), "given_back_ms": back_ms}


def _rate_lending(held: Slice) -> float:
    before, began = _launches(held), time.monotonic()
    while time.monotonic() - began < 0.5:
        held.region.lend(600, until_ns=time.monotonic_ns() + 100 * MS)
        time.sleep(0.02)
    return (_launches(held) - before) / (time.monotonic() - began)


def kill_9(bench: Bench) -> Facts:
    """A program killed with work and memory on the card: the next one has all of the slice."""
    held = bench.slice(memory_mib=bench.device.memory_mib // 4, share_permille=500)
    guest = bench.work("steady", held, ns=5 * MS, ms=60_000)
    _until_running(held)
    guest.send_signal(signal.SIGKILL)
    guest.wait()
    began = time.monotonic()
    told = words(bench.finish(bench.work("once", held, ns=1 * MS)))
    return {"next_launch_answer": told["answer"], "next_program_s": round(time.monotonic() - began, 3)}


def _until_running(held: Slice) -> None:
    deadline = time.monotonic() + 30
    while _launches(held) == 0:
        if time.monotonic() > deadline:
            raise Trouble("the program never launched")
        time.sleep(0.02)


def _rate(held: Slice, seconds: float) -> float:
    before, began = _launches(held), time.monotonic()
    time.sleep(seconds)
    return (_launches(held) - before) / (time.monotonic() - began)
