"""What the whole machine does, from ``/proc/stat``: the share of its cores that was busy, idle or stolen, over time."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

STAT = Path("/proc/stat")


@dataclass(frozen=True)
class Sample:
    """`at` is seconds since the epoch; ticks are of all cores together since boot."""

    at: float
    idle: int
    total: int


def sample() -> Sample:
    """Fields of the first line: user nice system idle iowait irq softirq steal (proc(5)); guest time is within user."""
    ticks = [int(word) for word in STAT.read_text().split("\n", 1)[0].split()[1:9]]
    return Sample(time.time(), ticks[3] + ticks[4], sum(ticks))


class Watch:
    """Samples once in half a second on a thread of its own until it is left."""

    def __init__(self, every_s: float = 0.5) -> None:
        self._samples = [sample()]
        self._every_s = every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="host-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._every_s):
            self._samples.append(sample())

    def idle_permille(self, starts_at: float, ends_at: float) -> int | None:
        """Idle time of the machine in a period, in permille of all its cores; None when nothing was sampled in it."""
        inside = [one for one in list(self._samples) if starts_at - self._every_s <= one.at <= ends_at + self._every_s]
        if len(inside) < 2 or inside[-1].total == inside[0].total:
            return None
        return (inside[-1].idle - inside[0].idle) * 1000 // (inside[-1].total - inside[0].total)
