"""A range in parts adds up to the whole, and a shown amount to its total, whatever the borders."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from billing.rating.cells import Amount, cost_cells, cut, spread, weights_of
from billing.rating.money import exponent_of, round_fine, share_fine
from billing.rating.periods import days_between
from vxpu.money import DEVICE_HOUR, ChargeItem, LineView

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
LONG = timedelta(hours=100)
ONE = UUID(int=1)
currencies = st.sampled_from(["EUR", "JPY", "KWD"])
fractions = st.fractions(min_value=0, max_value=10**6, max_denominator=10**9)
instants = st.integers(1, 99).map(lambda hours: NOON + timedelta(hours=hours))
borders = st.lists(instants, max_size=6, unique=True).map(lambda inner: [NOON, *sorted(inner), NOON + LONG])


def item(first: int, last: int, quantity: int) -> ChargeItem:
    return ChargeItem(
        kind="used", starts_at=NOON + timedelta(minutes=first), ends_at=NOON + timedelta(minutes=last),
        quantity=quantity, divisor=DEVICE_HOUR, unit_price=Decimal("3.2000000001"), price_id=ONE, text="x",
    )  # fmt: skip


def line(amount: str, first: int, last: int) -> LineView:
    charged = item(first, last, 1)
    return LineView(
        kind="used", source=ONE, starts_at=charged.starts_at, ends_at=charged.ends_at, quantity=1, divisor=DEVICE_HOUR,
        unit_price=charged.unit_price, price_id=ONE, text="x", simulated=False, amount=Decimal(amount),
    )  # fmt: skip


@given(st.lists(fractions, max_size=20), currencies)
def test_shown_amounts_add_up_to_the_sum_rounded_once(amounts: list[Fraction], currency: str) -> None:
    shown = share_fine(amounts, currency)
    assert sum(shown, Decimal(0)) == round_fine(sum(amounts, Fraction(0)), currency)
    step = Fraction(1, 10 ** (exponent_of(currency) + 2))
    assert all(abs(Fraction(one) - amount) < step for one, amount in zip(shown, amounts, strict=True))


@given(borders, st.integers(0, 5999), st.integers(1, 6000), st.integers(0, 10**9))
def test_a_charge_in_parts_is_the_charge(edges: list[datetime], first: int, length: int, quantity: int) -> None:
    charged = item(first, min(first + length, 6000), quantity)
    parts = list(cut(ONE, charged, edges))
    assert sum(part.quantity for part in parts) == quantity
    found = cost_cells(parts, cells=len(edges) - 1)
    assert sum((cell.amount for cell in found), Fraction(0)) == sum((part.exact for part in parts), Fraction(0))


@given(borders, st.integers(0, 5999), st.integers(1, 6000), st.decimals("-99.99", "99.99", places=2), st.booleans())
def test_a_line_in_parts_is_the_line(
    edges: list[datetime], first: int, length: int, amount: Decimal, charged: bool
) -> None:
    billed = line(str(amount), first, min(first + length, 6000))
    weights = weights_of(cut(ONE, item(first, min(first + length, 6000), 10**6), edges)) if charged else {}
    parts = spread(billed, edges, weights, currency="EUR")
    assert sum((part.amount for part in parts), Decimal(0)) == billed.amount


def test_what_lies_outside_the_range_is_left_out() -> None:
    edges = [NOON, NOON + timedelta(hours=1)]
    parts = list(cut(ONE, item(30, 90, 100), edges))
    assert [(part.cell, part.quantity) for part in parts] == [(0, 50), (1, 50)]
    assert [cell.quantity for cell in cost_cells(parts, cells=1)] == [50]
    assert cost_cells([Amount(ONE, "used", Decimal(1), 1, -1, 5)], cells=1) == []


def test_days_are_the_zones_and_are_clipped_to_the_range() -> None:
    starts_at = datetime(2026, 10, 24, 12, tzinfo=UTC)
    found = days_between(starts_at, starts_at + timedelta(days=2), "Europe/Berlin")
    assert [(day, span.seconds // 3600) for day, span in found] == [
        (date(2026, 10, 24), 10), (date(2026, 10, 25), 25), (date(2026, 10, 26), 13),
    ]  # fmt: skip


def test_a_day_that_the_clocks_skip_has_no_part() -> None:
    """Samoa went from 29 to 31 December 2011."""
    starts_at = datetime(2011, 12, 29, 20, tzinfo=UTC)
    found = days_between(starts_at, starts_at + timedelta(days=1), "Pacific/Apia")
    assert [day for day, _ in found] == [date(2011, 12, 29), date(2011, 12, 31)]
    assert sum(span.seconds for _, span in found) == 24 * 3600
