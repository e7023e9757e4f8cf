"""Durations and instants as people write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from cli.errors import UsageError

_PART = re.compile(r"(\d+)([smhd]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_duration(text: str) -> timedelta:
    """``"90"``, ``"90s"``, ``"10m"``, ``"1h30m"``, ``"2d"``; at least one second. Raises UsageError."""
    parts = _PART.findall(text.strip())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        raise UsageError(f"not a duration: {text!r}", suggestion="write 90s, 10m, 1h30m or 2d")
    seconds = sum(int(number) * _SECONDS[unit] for number, unit in parts)
    if seconds < 1:
        raise UsageError(f"a duration is at least one second, not {text!r}")
    return timedelta(seconds=seconds)


def parse_instant(text: str, *, now: datetime) -> datetime:
    """``"now"``, ``"+10m"``, or ISO 8601; without an offset it is your own zone's wall clock. Raises UsageError.

    A wall-clock time that a clock change skips or repeats is refused: the offset must say which one is meant.
    """
    if text == "now":
        return now
    if text.startswith("+"):
        return now + parse_duration(text[1:])
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"not a time: {text!r}", suggestion="write 2026-12-01T14:00+01:00, +10m or now") from error
    if instant.tzinfo is not None:
        return instant
    first, second = instant.astimezone(), instant.replace(fold=1).astimezone()
    if first.utcoffset() != second.utcoffset():
        raise UsageError(
            f"the clock changes around {text}: this time is skipped or comes twice",
            suggestion=f"add an offset: {text}{first:%z} or {text}{second:%z}",
        )
    return first


def to_wire(instant: datetime) -> str:
    """ISO 8601 in UTC, as the API takes it."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")
