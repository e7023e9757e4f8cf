"""From usage windows to the shares on the receipt. Pure: the node measured, here is only arithmetic.

Which windows count: those wholly inside a stretch in which the program was saturating its slice and the size did not
change, less one window at each end ("the steady part").

The promise is ``got = min(purchased, demand)`` within a tolerance, where `demand` is what the same program took of the
machine with no slice around it. A share is a ceiling on a machine that other programs use too. When the node says that
a window was contended, or the machine had no idle time left for what is missing, the interval is `contended`, and then
the promise is min(purchased, demand, what was available): got plus the idle time of the machine, since idle time is
exactly what the slice could have had and did not take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True)
class Stretch:
    """A time in which one program saturated one slice of one size; seconds since the epoch."""

    starts_at: float
    ends_at: float
    share_permille: int


@dataclass(frozen=True)
class Interval:
    """What the receipt shows for the steady part of a stretch. `idle_permille` is of the machine, None if unknown."""

    starts_at: datetime
    ends_at: datetime
    share_permille: int
    demand_permille: int
    share_got_permille: int
    contended: bool
    idle_permille: int | None

    def promised_permille(self) -> int:
        """min(purchased, demand), and in a contended interval also what was available."""
        promised = min(self.share_permille, self.demand_permille)
        if not self.contended:
            return promised
        return min(promised, self.share_got_permille + (self.idle_permille or 0))

    def is_kept(self, *, tolerance_permille: int) -> bool:
        return abs(self.share_got_permille - self.promised_permille()) <= tolerance_permille

    def as_json(self) -> dict[str, Any]:
        return {
            "from": _text(self.starts_at), "to": _text(self.ends_at), "share_permille": self.share_permille,
            "demand_permille": self.demand_permille, "share_got_permille": self.share_got_permille,
            "contended": self.contended,
        }  # fmt: skip


def steady_windows(windows: Sequence[dict[str, Any]], stretch: Stretch, *, window_s: int) -> list[dict[str, Any]]:
    """The windows of a lease that lie in the steady part of `stretch`, in order of time."""
    first, last = stretch.starts_at + window_s, stretch.ends_at - window_s
    inside = [one for one in windows if _epoch(one) >= first and _epoch(one) + window_s <= last]
    return sorted(inside, key=_epoch)


def span_of(windows: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Where the first window begins and the last one ends, in seconds since the epoch."""
    return _epoch(windows[0]), _epoch(windows[-1]) + int(windows[-1]["window_s"])


def interval_of(
    windows: Sequence[dict[str, Any]],
    stretch: Stretch,
    *,
    demand_permille: int,
    idle_permille: int | None,
    tolerance_permille: int,
) -> Interval:
    """The receipt's interval over windows that `steady_windows` gave. Raises ValueError when there is none."""
    if not windows:
        raise ValueError("no usage window lies in the steady part")
    began, ended = span_of(windows)
    seconds = sum(int(one["window_s"]) for one in windows)
    used = sum(int(one["used_permille_s"]) for one in windows)
    got = (2 * used + seconds) // (2 * seconds)  # rounded half up
    missing = min(stretch.share_permille, demand_permille) - got
    starved = idle_permille is not None and missing > tolerance_permille and idle_permille < tolerance_permille
    return Interval(
        starts_at=datetime.fromtimestamp(began, UTC),
        ends_at=datetime.fromtimestamp(ended, UTC),
        share_permille=stretch.share_permille,
        demand_permille=demand_permille,
        share_got_permille=got,
        contended=starved or any(bool(one["contended"]) for one in windows),
        idle_permille=idle_permille,
    )


def _epoch(window: dict[str, Any]) -> float:
    return datetime.fromisoformat(str(window["window_start"])).timestamp()


def _text(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")
