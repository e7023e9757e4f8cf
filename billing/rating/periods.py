"""Billing periods: ranges computed from a zone and an anchor day, never from an offset and never from the last period.

A period is half-open [starts_at, ends_at) in UTC. A local day begins at its first instant, also where the clocks skip
midnight (Cairo) or show it twice (Havana).
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib.metadata import version
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo, ZoneInfoNotFoundError


class UnknownZone(ValueError):
    """Not a name of the IANA zone database."""


class LocalTimeSkipped(ValueError):
    """The clocks jump over this local time."""


class LocalTimeTwice(ValueError):
    """The local time comes twice; `choices` are the two instants, in UTC."""

    def __init__(self, message: str, choices: tuple[datetime, datetime]) -> None:
        super().__init__(message)
        self.choices = choices


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open [starts_at, ends_at)."""

    starts_at: datetime
    ends_at: datetime

    @property
    def seconds(self) -> int:
        return int((self.ends_at - self.starts_at).total_seconds())

    def contains(self, instant: datetime) -> bool:
        return self.starts_at <= instant < self.ends_at


def zone_of(name: str) -> ZoneInfo:
    """Raises UnknownZone."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UnknownZone(f"{name!r} is not a time zone") from error


def start_of_day(day: date, zone: str) -> datetime:
    """The first instant of the local day, in UTC.

    A midnight that the clocks skip reads with the offset before the jump (PEP 495, fold 0), which is the instant of
    the jump; a midnight that comes twice reads as the first.
    """
    return datetime(day.year, day.month, day.day, tzinfo=zone_of(zone)).astimezone(UTC)


def local_day(day: date, zone: str) -> Span:
    """23, 24 or 25 hours where there is summer time."""
    return Span(start_of_day(day, zone), start_of_day(day + timedelta(days=1), zone))


def days_between(starts_at: datetime, ends_at: datetime, zone: str) -> list[tuple[date, Span]]:
    """The local days that [starts_at, ends_at) touches, each clipped to it. Raises UnknownZone."""
    day = starts_at.astimezone(zone_of(zone)).date()
    found = []
    while (whole := local_day(day, zone)).starts_at < ends_at:
        if max(whole.starts_at, starts_at) < whole.ends_at:  # where the clocks skip a whole day, that day is empty
            found.append((day, Span(max(whole.starts_at, starts_at), min(whole.ends_at, ends_at))))
        day += timedelta(days=1)
    return found


def resolve_local(naive: datetime, zone: str) -> datetime:
    """The instant of a wall-clock time, in UTC. Raises LocalTimeSkipped, or LocalTimeTwice with both choices."""
    where = zone_of(zone)
    first, second = (naive.replace(tzinfo=where, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first == second:
        return first
    if first.astimezone(where).replace(tzinfo=None) != naive:
        raise LocalTimeSkipped(f"{naive.isoformat()} does not exist in {zone}")
    raise LocalTimeTwice(f"{naive.isoformat()} comes twice in {zone}; give the offset", (first, second))


def _start_in_month(months: int, zone: str, anchor_day: int) -> datetime:
    """`months` counts from year 0. The anchor is clamped to each month by itself: after 28 February comes 31 March."""
    year, month = divmod(months, 12)
    return start_of_day(date(year, month + 1, min(anchor_day, monthrange(year, month + 1)[1])), zone)


def period_at(instant: datetime, *, zone: str, anchor_day: int) -> Span:
    """The monthly period that holds the instant. Raises UnknownZone, or ValueError for an anchor outside 1..31."""
    if not 1 <= anchor_day <= 31:
        raise ValueError(f"anchor day {anchor_day} is not within 1..31")
    local = instant.astimezone(zone_of(zone))
    months = local.year * 12 + local.month - 1
    if _start_in_month(months, zone, anchor_day) > instant:
        months -= 1
    return Span(_start_in_month(months, zone, anchor_day), _start_in_month(months + 1, zone, anchor_day))


def borders_between(starts_at: datetime, ends_at: datetime, *, zone: str, anchor_day: int) -> list[datetime]:
    """The starts of calendar periods strictly between the two instants."""
    found = []
    border = period_at(starts_at, zone=zone, anchor_day=anchor_day).ends_at
    while border < ends_at:
        found.append(border)
        border = period_at(border, zone=zone, anchor_day=anchor_day).ends_at
    return found


@cache
def tzdata_version() -> str:
    """The release of the zone database in use, for example ``"2026b"``; kept beside each computed range.

    The system's files win over the package `tzdata`, as they do in `zoneinfo`.
    """
    for folder in TZPATH:
        source = Path(folder) / "tzdata.zi"
        if source.is_file():
            with source.open() as lines:
                return lines.readline().removeprefix("# version").strip()
    return version("tzdata")
