"""Parts by time: pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from billing.rating.periods import Span, period_at, resolve_local
from billing.rating.proration import clip_quantity, prorate, prorate_parts, split_item
from tests.billing.factories import HOUR, NOON, make_item

offsets = st.lists(st.integers(-600, 4200), max_size=6)
quantities = st.integers(0, 2**62)


def test_a_monthly_fee_from_the_middle_of_march() -> None:
    """Case 5: 397 of 743 hours."""
    whole = period_at(datetime(2026, 3, 15, tzinfo=UTC), zone="Europe/Berlin", anchor_day=1)
    begins = resolve_local(datetime(2026, 3, 15, 10), "Europe/Berlin")  # noqa: DTZ001
    part = Span(begins, whole.ends_at)
    assert (part.seconds // 3600, whole.seconds // 3600) == (397, 743)
    assert str(prorate(Decimal(720), part=part, whole=whole, currency="EUR")) == "384.71"
    with pytest.raises(ValueError, match="not within"):
        prorate(Decimal(720), part=whole, whole=part, currency="EUR")


def test_twenty_nine_of_thirty_days() -> None:
    """Case 16."""
    whole = Span(NOON, NOON + timedelta(days=30))
    part = Span(NOON + timedelta(days=1), whole.ends_at)
    assert str(prorate(Decimal(200), part=part, whole=whole, currency="EUR")) == "193.33"


@given(st.decimals(0, 10**9, places=2), st.lists(st.integers(1, 10**7), min_size=1, max_size=12))
def test_parts_of_a_fee_add_up_to_it(fee: Decimal, lengths_s: list[int]) -> None:
    assert sum(prorate_parts(fee, lengths_s, "EUR")) == fee


@given(quantities, offsets)
def test_a_split_item_adds_up_to_the_whole(quantity: int, offsets_s: list[int]) -> None:
    item = make_item(quantity=quantity)
    parts = split_item(item, [NOON + timedelta(seconds=offset) for offset in offsets_s])
    assert sum(part.quantity for part in parts) == quantity
    assert [part.ends_at for part in parts[:-1]] == [part.starts_at for part in parts[1:]]
    assert (parts[0].starts_at, parts[-1].ends_at) == (NOON, NOON + HOUR)
    assert {replace(part, starts_at=NOON, ends_at=NOON + HOUR, quantity=0) for part in parts} == {make_item(quantity=0)}


def test_a_split_of_a_constant_share_is_exact() -> None:
    parts = split_item(make_item(), [NOON + timedelta(minutes=20), NOON + timedelta(minutes=21)])
    assert [part.quantity for part in parts] == [300_000, 15_000, 585_000]


@given(quantities, st.integers(-7200, 7200), st.integers(1, 7200))
def test_a_clipped_quantity_is_within_one_of_exact(quantity: int, start_s: int, length_s: int) -> None:
    span = Span(NOON, NOON + HOUR)
    start = NOON + timedelta(seconds=start_s)
    within = Span(start, start + timedelta(seconds=length_s))
    inside = max(0, min(3600, start_s + length_s) - max(0, start_s))
    got = clip_quantity(quantity, of=span, within=within)
    assert abs(got * 3600 - quantity * inside) < 3600
    assert clip_quantity(-quantity, of=span, within=within) == -got
