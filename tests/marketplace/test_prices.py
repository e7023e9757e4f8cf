"""Price books: one price at a time, time that was sold keeps its price, service time decides."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction
from psycopg.types.range import TimestamptzRange

from billing import facade as billing
from marketplace.errors import BookExists, NoPrice, PriceOverlaps, PriceStarted, WrongPeriod
from marketplace.models import Meter, Price
from marketplace.services import prices, rate, reconcile
from marketplace.services.prices import WrongPrice
from plumbing.errors import NotFound
from tests.marketplace.factories import HOUR, MINUTE, NOON, buy, lease_of, make_book, make_buyer, make_price
from tests.marketplace.node import Node
from vxpu.ids import new_uuid

pytestmark = pytest.mark.usefixtures("system")


def test_a_price_change_inside_an_hour_makes_two_items_with_two_prices() -> None:
    book = make_book()
    before = make_price("1.00", book_id=book.pk)
    after = make_price("1.20", book_id=book.pk, valid_from=NOON + 30 * MINUTE, ends_previous=True)
    node = Node(now=NOON)
    row = buy(make_buyer(), memory_mib=8192, share_permille=1000)
    node.beat(now=NOON)
    node.use_steadily(lease_of(row), since=NOON, until=NOON + HOUR, permille=1000)
    rate.rate_dirty(now=NOON + HOUR)
    lines = billing.charged_lines(sources=[lease_of(row)], starts_at=NOON, ends_at=NOON + HOUR)
    assert {(line.price_id, str(line.amount)) for line in lines} == {(before.pk, "0.50"), (after.pk, "0.60")}


def test_a_reservation_remembers_the_price_that_was_shown() -> None:
    price = make_price("3.20")
    Node(now=NOON)
    row = buy(make_buyer())
    assert (row.price_id, row.unit_price, row.currency) == (price.pk, Decimal("3.20"), "EUR")


def test_a_hole_in_the_book_is_filled_by_the_price_that_was_agreed() -> None:
    make_price("1.00", valid_until=NOON + 30 * MINUTE)
    node = Node(now=NOON)
    row = buy(make_buyer(), memory_mib=8192, share_permille=1000)
    node.beat(now=NOON)
    node.beat(now=NOON + HOUR)
    reconcile.reconcile(now=NOON + HOUR)
    lines = billing.charged_lines(sources=[lease_of(row)], starts_at=NOON, ends_at=NOON + HOUR)
    assert [str(line.amount) for line in lines] == ["1.00"]


def test_nothing_is_sold_without_a_price() -> None:
    Node(now=NOON)
    with pytest.raises(NoPrice):
        buy(make_buyer())


def test_the_tenants_own_price_wins_and_the_sku_before_the_kind() -> None:
    make_price("3.00")
    buyer = make_buyer()
    own = make_book(for_tenant_id=buyer.tenant_id)
    make_price("2.00", book_id=own.pk, sku="*")
    Node(now=NOON)
    assert buy(buyer).unit_price == Decimal("2.00")
    assert buy(make_buyer()).unit_price == Decimal("3.00")


def test_two_prices_of_one_name_never_overlap() -> None:
    book = make_book()
    make_price("1.00", book_id=book.pk)
    with pytest.raises(PriceOverlaps):
        make_price("2.00", book_id=book.pk, valid_from=NOON)
    with pytest.raises(PriceOverlaps):  # another book of the same scope and currency
        make_price("2.00", valid_from=NOON)
    make_price("2.00", book_id=make_book(currency="JPY").pk)


def test_of_a_started_price_only_the_end_may_be_set_and_only_ahead() -> None:
    now = datetime.now(UTC)
    price = make_price("1.00", valid_from=now - HOUR)
    for change in ({"unit_price": 2}, {"sku": "x"}, {"valid": TimestamptzRange(now - 2 * HOUR, None, "[)")}):
        with pytest.raises(IntegrityError, match="only the end"), transaction.atomic():
            Price.objects.filter(pk=price.pk).update(**change)
    with pytest.raises(IntegrityError), transaction.atomic():
        price.delete()
    with pytest.raises(IntegrityError), transaction.atomic():
        Price.objects.filter(pk=price.pk).update(valid=TimestamptzRange(now - HOUR, now - MINUTE, "[)"))
    ended = prices.end_price(price_id=price.pk, ends_at=now + HOUR, now=now)
    assert ended.valid.upper == (now + HOUR).replace(microsecond=0)


def test_an_end_before_now_is_refused_with_a_reason() -> None:
    now = datetime.now(UTC)
    price = make_price("1.00", valid_from=now - HOUR)
    with pytest.raises(PriceStarted):
        prices.end_price(price_id=price.pk, ends_at=now - MINUTE, now=now)


def test_a_price_that_has_not_started_may_still_change() -> None:
    price = make_price("1.00", valid_from=datetime.now(UTC) + HOUR)
    assert Price.objects.filter(pk=price.pk).update(unit_price=2) == 1
    assert price.delete()[0] == 1


def test_impossible_prices_are_refused() -> None:
    book = make_book()
    for wrong in ("-1", "0.12345678901"):
        with pytest.raises(WrongPrice):
            make_price(wrong, book_id=book.pk)
    with pytest.raises(WrongPeriod):
        make_price("1", book_id=book.pk, valid_from=NOON, valid_until=NOON)
    with pytest.raises(NotFound):
        make_price("1", book_id=new_uuid())


def test_reserved_time_has_a_price_of_zero_from_the_first_book_on() -> None:
    first = make_book()
    make_book()
    free = Price.objects.filter(meter=Meter.RESERVED)
    assert [(price.book_id, price.unit_price, price.sku) for price in free] == [(first.pk, Decimal(0), "*")]


def test_a_book_has_one_name() -> None:
    make_book(name="List")
    with pytest.raises(BookExists):
        make_book(name="List")


def test_prices_begin_on_whole_seconds() -> None:
    price = make_price("1.00", valid_from=NOON + timedelta(microseconds=1))
    assert price.valid.lower == NOON
