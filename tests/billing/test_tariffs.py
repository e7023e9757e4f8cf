"""Prices in time and tiers in quantity: pure."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from billing.rating.money import line_amount, total_of
from billing.rating.tariffs import (
    BadTiers,
    NoPrice,
    PriceSpan,
    Tier,
    TierPart,
    graduated_parts,
    rate,
    rerate_volume,
    split_by_price,
    volume_part,
)
from tests.billing.factories import HOUR, NOON
from vxpu.money import DEVICE_HOUR

VOLUME = [Tier(15, Decimal(10)), Tier(None, Decimal(5))]
HALF = NOON + HOUR / 2


def test_a_price_change_inside_an_hour() -> None:
    """Case 6."""
    prices = [
        PriceSpan(UUID(int=2), Decimal("1.20"), HALF),
        PriceSpan(UUID(int=1), Decimal("1.00"), NOON - HOUR, HALF),
    ]
    parts = split_by_price(NOON, NOON + HOUR, prices)
    costs = [
        line_amount(quantity=1_800_000, divisor=DEVICE_HOUR, unit_price=part.unit_price, currency="EUR")
        for part in parts
    ]
    assert [(part.price_id.int, part.starts_at, part.ends_at) for part in parts] == [
        (1, NOON, HALF), (2, HALF, NOON + HOUR),
    ]  # fmt: skip
    assert ([str(cost) for cost in costs], str(total_of(costs, "EUR"))) == (["0.50", "0.60"], "1.10")


def test_time_without_a_price_is_refused() -> None:
    holes = [
        [],
        [PriceSpan(UUID(int=1), Decimal(1), HALF)],
        [PriceSpan(UUID(int=1), Decimal(1), NOON, HALF)],
        [
            PriceSpan(UUID(int=1), Decimal(1), NOON, HALF),
            PriceSpan(UUID(int=2), Decimal(1), HALF + HOUR / 60),
        ],
    ]
    for prices in holes:
        with pytest.raises(NoPrice):
            split_by_price(NOON, NOON + HOUR, prices)


def test_a_late_event_across_a_tier() -> None:
    """Case 9: 15 billed as 150.00; a 16th takes that back and bills all 16 at 5."""
    change = rerate_volume(billed=15, corrected=16, tiers=VOLUME, divisor=1, currency="EUR")
    assert (str(change.reversal), str(change.amount)) == ("-150.00", "80.00")


def test_graduated_tiers_price_each_part() -> None:
    tiers = [Tier(10, Decimal(3)), Tier(20, Decimal(2)), Tier(None, Decimal(1))]
    assert graduated_parts(25, tiers) == [
        TierPart(10, Decimal(3)), TierPart(10, Decimal(2)), TierPart(5, Decimal(1)),
    ]  # fmt: skip
    assert graduated_parts(10, tiers) == [TierPart(10, Decimal(3))]
    assert rate(graduated_parts(25, tiers), divisor=1, currency="EUR") == Decimal("55.00")


@given(st.integers(0, 10**6), st.lists(st.integers(1, 10**6), max_size=5, unique=True))
def test_tier_parts_add_up_to_the_quantity(quantity: int, bounds: list[int]) -> None:
    tiers = [*(Tier(bound, Decimal(bound)) for bound in sorted(bounds)), Tier(None, Decimal(0))]
    assert sum(part.quantity for part in graduated_parts(quantity, tiers)) == quantity
    assert volume_part(quantity, tiers).quantity == quantity


@pytest.mark.parametrize("bounds", [[], [5], [None, None], [5, 5, None], [9, 5, None]])
def test_tiers_rise_and_the_last_is_open(bounds: list[int | None]) -> None:
    with pytest.raises(BadTiers):
        volume_part(1, [Tier(bound, Decimal(1)) for bound in bounds])
