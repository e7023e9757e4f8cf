"""Which size a running reservation should have now, by its rules: the clock, the load, the progress of the work.

Every rule has an opinion or none; the largest opinion wins, so a night's small size never starves a full queue. A size
changes at most once in the winner's cool-down, and a load rule has two thresholds (hysteresis): between them it holds
what there is. The same arguments give the same answer: nothing is remembered here but what `History` says.

Wall-clock windows are judged by the local time of each instant, so on the night of a change of clocks an hour that
comes twice is inside twice, and one that is skipped is never waited for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

DAY_MINUTES = 24 * 60
RETRY_FIRST = timedelta(seconds=30)
RETRY_MOST = timedelta(minutes=30)


class Size(NamedTuple):
    permille: int
    mib: int


@dataclass(frozen=True, slots=True)
class Window:
    """Local minutes [first, last) of these days (0 is Monday). A `last` that is not later is on the next day."""

    days: frozenset[int]
    first: int
    last: int
    size: Size

    def holds(self, local: datetime) -> bool:
        minute, day = local.hour * 60 + local.minute, local.weekday()
        if self.first < self.last:
            return day in self.days and self.first <= minute < self.last
        return (day in self.days and minute >= self.first) or ((day - 1) % 7 in self.days and minute < self.last)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The first window that holds says the size, else `otherwise`."""

    zone: str
    windows: tuple[Window, ...]
    otherwise: Size


@dataclass(frozen=True, slots=True)
class Load:
    """A step up above `grow_at`, a step down below `shrink_at`; `signal` names the reading."""

    signal: str
    grow_at: int
    shrink_at: int
    step: Size


@dataclass(frozen=True, slots=True)
class Progress:
    """From each epoch on its size, epochs ascending; before the first of them there is no opinion."""

    steps: tuple[tuple[int, Size], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    id: UUID
    body: Schedule | Load | Progress
    least: Size
    most: Size
    cool_down: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What came of the decisions so far: the last change, and refusals of one size since."""

    changed_at: datetime | None = None
    refused: Size | None = None
    refused_at: datetime | None = None
    refusals: int = 0


class Decision(NamedTuple):
    """`reason` is like ``"load_high"``."""

    rule: UUID
    size: Size
    reason: str


def check(rule: Rule) -> None:
    """Raises ValueError with words for a rule that could never be kept."""
    least, most = rule.least, rule.most
    if least.permille < 1 or least.mib < 1 or most.permille > 1000:
        raise ValueError("A size is 1 to 1000 permille and 1 MiB or more.")
    if most.permille < least.permille or most.mib < least.mib:
        raise ValueError("max is smaller than min.")
    if rule.cool_down < timedelta(0):
        raise ValueError("cool_down_s is 0 or more.")
    match rule.body:
        case Schedule(zone, windows):
            _check_schedule(zone, windows)
        case Load(_, grow_at, shrink_at, step):
            if not 0 <= shrink_at < grow_at:
                raise ValueError("shrink_at must be below grow_at, or it would swing.")
            if step.permille < 0 or step.mib < 0 or step == Size(0, 0):
                raise ValueError("step is 0 or more of each, and not nothing.")
        case Progress(steps):
            epochs = [epoch for epoch, _ in steps]
            if not epochs or epochs[0] < 0 or any(one >= two for one, two in pairwise(epochs)):
                raise ValueError("Epochs must ascend, from 0 or more.")


def _check_schedule(zone: str, windows: Sequence[Window]) -> None:
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"There is no time zone {zone!r}.") from error
    for window in windows:
        if not window.days or not window.days <= set(range(7)):
            raise ValueError("A window has days from 0 (Monday) to 6.")
        if not (0 <= window.first < DAY_MINUTES and 0 <= window.last <= DAY_MINUTES):
            raise ValueError("A window is within a day: 00:00 to 24:00.")


def decide(
    rules: Iterable[Rule], *, size: Size, readings: dict[str, int], history: History, now: datetime
) -> Decision | None:
    """The size to take now; None to leave it. `readings` are those that are fresh, by the name of the signal."""
    found = [(rule, one) for rule in rules if (one := _opinion(rule, size, readings, now)) is not None]
    if not found:
        return None
    rule, (wanted, reason) = max(found, key=lambda one: (one[1][0], one[0].id))
    if wanted == size or is_cooling(rule, history, now=now) or is_backing_off(wanted, history, now=now):
        return None
    return Decision(rule.id, wanted, reason)


def is_cooling(rule: Rule, history: History, *, now: datetime) -> bool:
    return history.changed_at is not None and now < history.changed_at + rule.cool_down


def is_backing_off(wanted: Size, history: History, *, now: datetime) -> bool:
    """The same size again only after a time that doubles with each refusal; another one at once."""
    if history.refused != wanted or history.refused_at is None:
        return False
    return now < history.refused_at + retry_after(history.refusals)


def retry_after(refusals: int) -> timedelta:
    doubled: timedelta = RETRY_FIRST * 2 ** min(max(refusals - 1, 0), 16)
    return min(doubled, RETRY_MOST)


def _opinion(rule: Rule, size: Size, readings: dict[str, int], now: datetime) -> tuple[Size, str] | None:
    match rule.body:
        case Schedule(zone, windows, otherwise):
            local = now.astimezone(ZoneInfo(zone))
            held = next((window.size for window in windows if window.holds(local)), otherwise)
            return _within(rule, held), "schedule"
        case Load(signal, grow_at, shrink_at, step):
            level = readings.get(signal)
            if level is None:
                return None
            sign, reason = (
                (1, "load_high") if level > grow_at else (-1, "load_low") if level < shrink_at else (0, "load")
            )
            moved = Size(size.permille + sign * step.permille, size.mib + sign * step.mib)
            return _within(rule, moved), reason
        case Progress(steps):
            epoch = readings.get("epoch")
            reached = [one for first, one in steps if epoch is not None and first <= epoch]
            return (_within(rule, reached[-1]), "epoch") if reached else None


def _within(rule: Rule, size: Size) -> Size:
    pairs = zip(size, rule.least, rule.most, strict=True)
    return Size(*(min(max(one, least), most) for one, least, most in pairs))
