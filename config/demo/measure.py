"""From usage windows to the shares on the receipt. Pure: the node measured, here is only arithmetic.

Which windows count: those wholly inside a stretch in which the program was saturating its slice and the size did not
change, less one window at each end ("the steady part").

The promise is ``got = min(purchased, demand)`` within a tolerance, where `demand` is what the same program wants of the
machine with no slice around it. A share is a ceiling on a machine that other programs use too, so a window may be
`contended`: the node says so, or it fell short, and then the promise of that window is what it got, if the whole
machine was busy in it. A short window on a machine that had time to spare is never excused, nor is one that got too
much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

BUSY_IDLE_PERMILLE = 100
"""With less idle time than this a machine was full for a part of it: quotas lapse in 10 ms, idle time is not kept."""


@dataclass(frozen=True)
class Stretch:
    """A time in which one program saturated one slice of one size; seconds since the epoch."""

    starts_at: float
    ends_at: float
    share_permille: int


@dataclass(frozen=True)
class Interval:
    """What the receipt shows for the steady part of a stretch, and what it had to be (`promised_permille`)."""

    starts_at: datetime
    ends_at: datetime
    share_permille: int
    demand_permille: int
    share_got_permille: int
    promised_permille: int
    contended: bool

    def is_kept(self, *, tolerance_permille: int) -> bool:
        return abs(self.share_got_permille - self.promised_permille) <= tolerance_permille

    def as_json(self) -> dict[str, Any]:
        return {
            "from": _text(self.starts_at),
            "to": _text(self.ends_at),
            "share_permille": self.share_permille,
            "demand_permille": self.demand_permille,
            "share_got_permille": self.share_got_permille,
            "contended": self.contended,
        }


def steady_windows(windows: Sequence[dict[str, Any]], stretch: Stretch, *, window_s: int) -> list[dict[str, Any]]:
    """The windows of a lease that lie in the steady part of `stretch`, in order of time."""
    first, last = stretch.starts_at + window_s, stretch.ends_at - window_s
    inside = [one for one in windows if _epoch(one) >= first and _epoch(one) + window_s <= last]
    return sorted(inside, key=_epoch)


def interval_of(
    windows: Sequence[dict[str, Any]],
    stretch: Stretch,
    *,
    demand_permille: int,
    idle_permille: Callable[[float, float], int | None],
    tolerance_permille: int,
) -> Interval:
    """The receipt's interval over windows that `steady_windows` gave.

    `idle_permille` tells the machine's idle time in a period, None if it was not watched. Raises ValueError when there
    is no window.
    """
    if not windows:
        raise ValueError("no usage window lies in the steady part")
    wanted = min(stretch.share_permille, demand_permille)
    seconds = used = promised = 0
    contended = False
    for one in windows:
        length, got = int(one["window_s"]), int(one["used_permille_s"])
        idle = idle_permille(_epoch(one), _epoch(one) + length)
        is_short = got < (wanted - tolerance_permille) * length
        is_full = idle is not None and idle < BUSY_IDLE_PERMILLE
        excused = is_full and (is_short or bool(one["contended"]))
        contended |= excused or bool(one["contended"])
        seconds, used = seconds + length, used + got
        promised += min(wanted * length, got) if excused else wanted * length
    return Interval(
        starts_at=datetime.fromtimestamp(_epoch(windows[0]), UTC),
        ends_at=datetime.fromtimestamp(_epoch(windows[-1]) + int(windows[-1]["window_s"]), UTC),
        share_permille=stretch.share_permille,
        demand_permille=demand_permille,
        share_got_permille=_rounded(used, seconds),
        promised_permille=_rounded(promised, seconds),
        contended=contended,
    )


def _rounded(amount: int, parts: int) -> int:
    """Half up."""
    return (2 * amount + parts) // (2 * parts)


def _epoch(window: dict[str, Any]) -> float:
    return datetime.fromisoformat(str(window["window_start"])).timestamp()


def _text(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")
