"""Periods and local time: pure. The zone database decides, no offset does."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from billing.rating.money import line_amount
from billing.rating.periods import (
    LocalTimeSkipped,
    LocalTimeTwice,
    Span,
    UnknownZone,
    borders_between,
    local_day,
    period_at,
    resolve_local,
    start_of_day,
    tzdata_version,
)
from vxpu.money import DEVICE_HOUR

BERLIN = "Europe/Berlin"
instants = st.datetimes(datetime(2000, 1, 1), datetime(2037, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
zones = st.sampled_from(sorted(available_timezones() - {"localtime", "Factory"}))
anchors = st.integers(1, 31)


def cost(span: Span) -> str:
    """A whole device at 0.80 an hour."""
    quantity = span.seconds * 1000
    return str(line_amount(quantity=quantity, divisor=DEVICE_HOUR, unit_price=Decimal("0.80"), currency="EUR"))


@pytest.mark.parametrize(
    ("day", "hours", "amount"),
    [(date(2026, 3, 29), 23, "18.40"), (date(2026, 10, 25), 25, "20.00"), (date(2026, 6, 1), 24, "19.20")],
)
def test_a_local_day_has_as_many_hours_as_it_has(day: date, hours: int, amount: str) -> None:
    """Cases 1 and 2."""
    span = local_day(day, BERLIN)
    assert (span.seconds, cost(span)) == (hours * 3600, amount)


@pytest.mark.parametrize(("month", "hours", "amount"), [(3, 743, "594.40"), (10, 745, "596.00"), (5, 744, "595.20")])
def test_a_local_month_too(month: int, hours: int, amount: str) -> None:
    """Cases 1 and 2."""
    span = period_at(datetime(2026, month, 15, tzinfo=UTC), zone=BERLIN, anchor_day=1)
    assert (span.seconds, cost(span)) == (hours * 3600, amount)


def test_the_spring_day_is_this_range() -> None:
    expected = Span(datetime(2026, 3, 28, 23, tzinfo=UTC), datetime(2026, 3, 29, 22, tzinfo=UTC))
    assert local_day(date(2026, 3, 29), BERLIN) == expected


def test_a_time_that_comes_twice_needs_an_offset() -> None:
    """Case 2."""
    with pytest.raises(LocalTimeTwice) as refusal:
        resolve_local(datetime(2026, 10, 25, 2, 30), BERLIN)  # noqa: DTZ001
    assert [choice.strftime("%H:%MZ") for choice in refusal.value.choices] == ["00:30Z", "01:30Z"]


def test_a_time_that_the_clocks_skip_does_not_exist() -> None:
    """Case 2."""
    with pytest.raises(LocalTimeSkipped):
        resolve_local(datetime(2026, 3, 29, 2, 30), BERLIN)  # noqa: DTZ001
    start, end = (resolve_local(datetime(2026, 3, 29, hour, 30), BERLIN) for hour in (1, 3))  # noqa: DTZ001
    assert end - start == timedelta(hours=1)


def test_anchor_31_is_kept_and_clamped_month_by_month() -> None:
    """Case 4."""
    starts = [start_of_day(date(2026, 1, 31), BERLIN)]
    while len(starts) < 6:
        starts.append(period_at(starts[-1], zone=BERLIN, anchor_day=31).ends_at)
    local = [start.astimezone(UTC) + timedelta(hours=2) for start in starts]
    assert [f"{at:%m-%d}" for at in local] == ["01-31", "02-28", "03-31", "04-30", "05-31", "06-30"]


@given(instants, zones, anchors)
def test_periods_adjoin_and_hold_their_instant(instant: datetime, zone: str, anchor_day: int) -> None:
    span = period_at(instant, zone=zone, anchor_day=anchor_day)
    following = period_at(span.ends_at, zone=zone, anchor_day=anchor_day)
    before = period_at(span.starts_at - timedelta(microseconds=1), zone=zone, anchor_day=anchor_day)
    assert span.contains(instant)
    assert before.ends_at == span.starts_at
    assert following.starts_at == span.ends_at
    assert timedelta(days=26) < span.ends_at - span.starts_at < timedelta(days=33)


@given(instants, zones, anchors, st.integers(1, 100))
def test_borders_are_the_starts_of_periods(instant: datetime, zone: str, anchor_day: int, days: int) -> None:
    until = instant + timedelta(days=days)
    borders = borders_between(instant, until, zone=zone, anchor_day=anchor_day)
    assert all(period_at(border, zone=zone, anchor_day=anchor_day).starts_at == border for border in borders)
    assert all(instant < border < until for border in borders)
    assert borders == sorted(set(borders))
    assert len(borders) >= days // 31 - 1


@pytest.mark.parametrize(
    ("day", "zone", "first"),
    [
        (date(2024, 4, 26), "Africa/Cairo", "01:00"),  # midnight is skipped
        (date(2024, 11, 3), "America/Havana", "00:00"),  # midnight comes twice
        (date(2026, 7, 1), "Asia/Kathmandu", "00:00"),
    ],
)
def test_a_day_begins_at_its_first_instant(day: date, zone: str, first: str) -> None:
    from zoneinfo import ZoneInfo

    start = start_of_day(day, zone)
    local = start.astimezone(ZoneInfo(zone))
    assert (local.date(), local.fold, f"{local:%H:%M}") == (day, 0, first)
    assert (start - timedelta(seconds=1)).astimezone(ZoneInfo(zone)).date() == day - timedelta(days=1)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd", "Europe", "x" * 300, "a\0b"])
def test_unknown_zones_are_refused(zone: str) -> None:
    with pytest.raises(UnknownZone):
        local_day(date(2026, 1, 1), zone)


@pytest.mark.parametrize("anchor_day", [0, 32, -1])
def test_an_anchor_is_a_day_of_the_month(anchor_day: int) -> None:
    with pytest.raises(ValueError, match="anchor"):
        period_at(datetime(2026, 1, 1, tzinfo=UTC), zone="UTC", anchor_day=anchor_day)


def test_the_release_of_the_zone_database_is_known() -> None:
    assert tzdata_version()[:2] == "20"
