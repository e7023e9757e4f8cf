"""Tenants on one simulated card in virtual time, with the agent's gain loop: who gets how much of the card.

The test takes part in the card's clock through a small program of its own (`cuda_clock`): while Python thinks,
time stands still.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from agent.gain import WHOLE_PPM, GainReading, next_gain_ppm
from agent.turns import NO_TURN, Turn, turns
from tests.native.cards import Cards
from tests.native.guests import BUILD, figures
from tests.native.region import Region

SECOND_NS = 1_000_000_000
TICK_NS = SECOND_NS // 2
LOOKS = 10  # for turns, in a tick
TURN_FIELDS = ("hold_from_ns", "hold_until_ns", "lend_permille", "lend_until_ns")
STEP_NS = 1_000_000
START_S, LAUNCH_S = 5, 0.3  # of real time
WORK = str(BUILD / "tests/cuda_work")
CLOCK = str(BUILD / "tests/cuda_clock")


@dataclass
class Tenant:
    """One slice and its programs, and what was seen of them."""

    region: Region
    asked: int
    guests: list[subprocess.Popen[str]] = field(default_factory=list)
    gain_ppm: int = WHOLE_PPM
    before: GainReading | None = None
    busy: list[int] = field(default_factory=list)  # running total at each tick
    launches: list[int] = field(default_factory=list)  # the same
    spills: bool = False
    turn: Turn = NO_TURN


def end(process: subprocess.Popen[str]) -> None:
    """Kill it, wherever it is."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


class Stage:
    """A card on a virtual clock; leave it and every program on it ends."""

    def __init__(self, folder: Path, *, gain: bool = True, turns: bool = False, **card: int) -> None:
        self.folder = folder
        self.cards = Cards(folder / "cards", clock="virtual", **card)
        self.turns = turns
        self.tenants: list[Tenant] = []
        self.times: list[int] = []
        self.gain = gain
        self.hand = subprocess.Popen(
            [CLOCK], env=self.cards.env(None), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.now = self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        for process in [self.hand, *(guest for tenant in self.tenants for guest in tenant.guests)]:
            end(process)

    def _answer(self) -> int:
        assert self.hand.stdout is not None
        return int(self.hand.stdout.readline())

    def sleep(self, ns: int) -> int:
        """Let that much of the card's time go by; the time then."""
        assert self.hand.stdin is not None
        self.hand.stdin.write(f"{ns}\n")
        self.hand.stdin.flush()
        self.now = self._answer()
        return self.now

    def slice(self, share: int, **limits: int) -> Tenant:
        region = Region(self.folder / f"slice{len(self.tenants)}", limit=1 << 30, share=share, units=1)
        tenant = Tenant(self.cards.grant(region, 0, **limits), share)
        self.tenants.append(tenant)
        return tenant

    def start(self, tenant: Tenant, pattern: str, **options: int | str) -> subprocess.Popen[str]:
        words = [f"{name}={value}" for name, value in options.items() if not name.isupper()]
        extra = {name: str(value) for name, value in options.items() if name.isupper()}
        guest = subprocess.Popen(
            [WORK, pattern, *words], env=self.cards.env(tenant.region, **extra), stdout=subprocess.PIPE, text=True
        )
        tenant.guests.append(guest)
        return guest

    def finish(self, guest: subprocess.Popen[str], *, within_s: int = 600) -> dict[str, int]:
        """Let time go by until the program ends; what it printed."""
        deadline = self.now + within_s * SECOND_NS
        while guest.poll() is None:
            assert self.sleep(STEP_NS) < deadline, "the program does not end"
        out, _ = guest.communicate()
        assert guest.returncode == 0, (guest.returncode, out)
        return figures(out) if out else {}

    def steady(self, share: int, *, programs: int = 1, **options: int) -> Tenant:
        """A tenant whose programs launch kernels for as long as the test looks."""
        return self.run(self.slice(share), programs=programs, **options)

    def run(self, tenant: Tenant, *, programs: int = 1, **options: int) -> Tenant:
        for _ in range(programs):
            before = tenant.region.usage("launches")
            guest = self.start(tenant, "steady", **{"ms": 1_000_000} | options)
            self._await_launch(tenant, guest, before)
        return tenant

    def _await_launch(self, tenant: Tenant, guest: subprocess.Popen[str], before: int) -> None:
        """Time stands still until the program is there, else the machine's load would count as its idleness.

        It goes on by little steps until the first launch; one that waits by itself is not waited for long.
        """
        slots, patience = len(tenant.guests), time.monotonic() + START_S
        while len(tenant.region.live_slots()) < slots and guest.poll() is None and time.monotonic() < patience:
            time.sleep(0.002)
        patience = min(patience, time.monotonic() + LAUNCH_S)
        while tenant.region.usage("launches") == before and guest.poll() is None and time.monotonic() < patience:
            time.sleep(0.001)
            self.sleep(STEP_NS // 100)

    def busy_by_pid(self) -> dict[int, int]:
        processes: Any = self.cards.list()[0]["processes"]
        return {int(process["pid"]): int(process["busy_ns"]) for process in processes}

    def tick(self) -> None:
        """Half a second goes by, and the agent looks at its meters."""
        for _ in range(LOOKS):
            self._take_turns()
            self.sleep(TICK_NS // LOOKS)
        self.times.append(self.now)
        by_pid = self.busy_by_pid()
        for tenant in self.tenants:
            busy = sum(by_pid.get(guest.pid, 0) for guest in tenant.guests)
            tenant.busy.append(busy)
            tenant.launches.append(tenant.region.usage("launches"))
            self._publish_gain(tenant, GainReading(self.now, busy, tenant.region.usage("measured_ns")))

    def _take_turns(self) -> None:
        """As the agent does on a card that is full."""
        parts = [tenant.asked * (self.turns and tenant.spills) for tenant in self.tenants]
        for tenant, turn in zip(self.tenants, turns(parts, now_ns=self.now), strict=True):
            if turn != tenant.turn:
                tenant.region.set(**{name: getattr(turn, name) for name in TURN_FIELDS})
                tenant.turn = turn

    def _publish_gain(self, tenant: Tenant, after: GainReading) -> None:
        if tenant.before is not None and after.mono_ns - tenant.before.mono_ns < tenant.turn.cycle_ns:
            return
        if self.gain and tenant.before is not None:
            tenant.gain_ppm = next_gain_ppm(tenant.before, after, current_ppm=tenant.gain_ppm)
            tenant.region.set(gain_ppm=tenant.gain_ppm)
        tenant.before = after

    def watch(self, seconds: int, *, warm: int = 3) -> None:
        """Look for so long, after a warm-up that is not counted."""
        for _ in range(2 * warm):
            self.tick()
        self.times.clear()
        for tenant in self.tenants:
            tenant.busy.clear()
            tenant.launches.clear()
        for _ in range(2 * seconds + 1):
            self.tick()

    def got(self, tenant: Tenant) -> float:
        """Per cent of the card, over the time watched."""
        return 100 * (tenant.busy[-1] - tenant.busy[0]) / (self.times[-1] - self.times[0])

    def finished(self, tenant: Tenant) -> int:
        """Kernels launched over the time watched."""
        return tenant.launches[-1] - tenant.launches[0]

    def jitter(self, tenant: Tenant) -> float:
        """Per cent: the standard deviation of its shares of each second, against their mean."""
        parts = [later - earlier for earlier, later in zip(tenant.busy[:-2:2], tenant.busy[2::2], strict=True)]
        return 100 * statistics.pstdev(parts) / statistics.mean(parts)
