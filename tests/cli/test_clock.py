"""Durations and instants as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from cli.clock import parse_duration, parse_instant, to_wire
from cli.commands.reserve import period_body
from cli.errors import UsageError

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("2d", 172_800), (" 5m ", 300)]
)
def test_durations(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "m", "1.5h", "-5m", "5 m", "1w", "0", "0s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(UsageError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "wire"),
    [("now", "2026-12-01T12:00:00Z"), ("+10m", "2026-12-01T12:10:00Z"),
     ("2026-12-01T14:00+01:00", "2026-12-01T13:00:00Z"), ("2026-12-01T13:00:00Z", "2026-12-01T13:00:00Z")],
)  # fmt: skip
def test_instants(text: str, wire: str) -> None:
    assert to_wire(parse_instant(text, now=NOW)) == wire


def test_a_length_counts_from_the_start() -> None:
    body = period_body(start="+1h", end="", length="30m", now=NOW)
    assert body == {"starts_at": "2026-12-01T13:00:00Z", "ends_at": "2026-12-01T13:30:00Z"}


def test_now_without_an_end_is_left_to_the_server() -> None:
    assert period_body(start="now", end="", length="", now=NOW) == {"starts_at": None, "ends_at": None}


def test_an_end_and_a_length_contradict_each_other() -> None:
    with pytest.raises(UsageError, match="not both"):
        period_body(start="now", end="+1h", length="1h", now=NOW)
