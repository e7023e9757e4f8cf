"""Quantities: exact integers, a price per piece, used and idle add up to the dominant share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marketplace.rating.items import (
    NoRate,
    Rate,
    Taken,
    delivered_items,
    pour,
    reserved_items,
    split_at_prices,
)
from marketplace.rating.spans import Span
from vxpu.money import DEVICE_HOUR

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def rate(number: int, price: str, first: float, last: float | None) -> Rate:
    return Rate(UUID(int=number), Decimal(price), at(first), None if last is None else at(last))


def taken(first: float, last: float, permille: int = 1000) -> Taken:
    return Taken(Span(at(first), at(last)), permille, "a slice")


def test_a_price_change_inside_an_hour_makes_two_items() -> None:
    ladder = [[rate(1, "1.00", -600, 30), rate(2, "1.20", 30, None)]]
    pieces = split_at_prices(taken(0, 60), ladder=ladder)
    items = delivered_items(pieces, used_permille_s=[piece.permille_s for piece in pieces])
    amounts = [Decimal(item.quantity) * item.rate.unit_price / DEVICE_HOUR for item in items]
    assert [item.rate.price_id.int for item in items] == [1, 2]
    assert amounts == [Decimal("0.50"), Decimal("0.60")]


def test_the_most_specific_price_wins_while_it_lasts() -> None:
    ladder = [[rate(1, "0.50", 10, 20)], [rate(2, "1.00", -600, None)]]
    pieces = split_at_prices(taken(0, 60), ladder=ladder)
    assert [(piece.rate.price_id.int, piece.span.seconds) for piece in pieces] == [(2, 600), (1, 600), (2, 2400)]


def test_a_border_of_a_price_that_does_not_win_is_no_border() -> None:
    ladder = [[rate(1, "1.00", -600, None)], [rate(2, "2.00", -600, 30), rate(3, "3.00", 30, None)]]
    assert len(split_at_prices(taken(0, 60), ladder=ladder)) == 1


def test_a_second_without_a_price_is_an_error_not_a_gift() -> None:
    with pytest.raises(NoRate):
        split_at_prices(taken(0, 60), ladder=[[rate(1, "1.00", 0, 30)]])


def test_use_beyond_the_share_is_not_charged_as_use() -> None:
    pieces = split_at_prices(taken(0, 1, permille=250), ladder=[[rate(1, "1.00", 0, None)]])
    items = delivered_items(pieces, used_permille_s=[250 * 60 + 999])
    assert [(item.kind, item.quantity) for item in items] == [("used", 250 * 60)]


def test_a_window_that_straddles_a_border_pours_over() -> None:
    assert pour([30, 0], room=[10, 40]) == [10, 20]
    assert pour([0, 60], room=[40, 30]) == [30, 30]
    assert pour([99, 99], room=[10, 10]) == [10, 10]


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=10))
def test_pouring_keeps_the_sum(pairs: list[tuple[int, int]]) -> None:
    amounts, room = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    poured = pour(amounts, room=room)
    assert sum(poured) == min(sum(amounts), sum(room))
    assert all(0 <= amount <= space for amount, space in zip(poured, room, strict=True))


@given(st.integers(1, 1000), st.integers(0, 10**7), st.lists(st.integers(1, 59), max_size=4))
def test_used_and_idle_are_the_dominant_share_exactly(permille: int, used: int, minutes: list[int]) -> None:
    edges = [-60, *sorted(set(minutes))]
    level = [
        rate(n, "1.00", first, last) for n, (first, last) in enumerate(zip(edges, [*edges[1:], None], strict=True))
    ]
    pieces = split_at_prices(taken(0, 60, permille), ladder=[level])
    metered = [used, *[0] * (len(pieces) - 1)]
    items = delivered_items(pieces, used_permille_s=metered)
    assert sum(item.quantity for item in items) == permille * 3600
    assert sum(item.quantity for item in items if item.kind == "used") == min(used, permille * 3600)


def test_time_not_delivered_is_its_own_kind() -> None:
    pieces = split_at_prices(taken(0, 2, permille=500), ladder=[[rate(9, "0", -60, None)]])
    (item,) = reserved_items(pieces)
    assert (item.kind, item.quantity, item.rate.unit_price) == ("reserved", 60_000, Decimal(0))
