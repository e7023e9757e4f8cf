"""From charges to lines and to the bytes of the invoice: any order, any batching, the same result. Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from billing.exports.document import canonical_bytes
from billing.rating.lines import Entry, Line, Meter, adjust, billed_state, rate
from billing.rating.money import line_amount, total_of
from billing.rating.revisions import BadItem, canonical_items, revise
from tests.billing.factories import HOUR, NOON, make_item
from vxpu.ids import new_uuid
from vxpu.money import ChargeItem, InvoiceView, LineView

SLOT = timedelta(minutes=5)
PRICES = {UUID(int=1): Decimal("3.20"), UUID(int=2): Decimal("0.0123456789")}


@st.composite
def facts(draw: st.DrawFn) -> list[ChargeItem]:
    """Windows of one source: at most one a slot, kind and price."""
    keys = draw(st.sets(st.tuples(st.integers(0, 11), st.sampled_from(["used", "idle"]), st.sampled_from([*PRICES]))))
    return [
        make_item(
            kind=kind, starts_at=NOON + slot * SLOT, ends_at=NOON + (slot + 1) * SLOT, price_id=price,
            unit_price=PRICES[price], quantity=draw(st.integers(0, 300_000)), simulated=draw(st.booleans()),
        )
        for slot, kind, price in sorted(keys, key=str)
    ]  # fmt: skip


def meter(item: ChargeItem, source: int = 1) -> Meter:
    return Meter(UUID(int=source), item.kind, item.price_id, item.unit_price, item.divisor, item.text, item.simulated)


class Book:
    """The charges of one bucket, as the service keeps them, without a database."""

    def __init__(self) -> None:
        self.live: dict[UUID, ChargeItem] = {}

    def set(self, items: Sequence[ChargeItem]) -> None:
        change = revise(self.live, canonical_items(items))
        for key in change.superseded:
            del self.live[key]
        self.live.update((new_uuid(), item) for item in change.added)

    def lines(self, rng: random.Random | None = None) -> list[Line]:
        entries = [Entry(meter(item), item.starts_at, item.ends_at, item.quantity) for item in self.live.values()]
        return rate(rng.sample(entries, len(entries)) if rng else entries, currency="EUR")


def invoice_bytes(lines: Sequence[Line]) -> bytes:
    views = tuple(
        LineView(
            kind=line.meter.kind, source=line.meter.source, starts_at=line.starts_at, ends_at=line.ends_at,
            quantity=line.quantity, divisor=line.meter.divisor, unit_price=line.meter.unit_price,
            price_id=line.meter.price_id, text=line.meter.text, simulated=line.meter.simulated, amount=line.amount,
        )
        for line in lines
    )  # fmt: skip
    return canonical_bytes(
        InvoiceView(
            id=UUID(int=1), tenant_id=UUID(int=2), account_id=UUID(int=3), account_name="Ada", number="INV-000001",
            state="issued", currency="EUR", total=total_of([line.amount for line in lines], "EUR"), paid=Decimal(0),
            zone="UTC", starts_at=NOON, ends_at=NOON + HOUR, issued_at=NOON + HOUR, content_hash="", simulated=False,
            lines=views,
        )
    )  # fmt: skip


@given(facts(), st.randoms(use_true_random=False), st.integers(0, 6))
def test_any_order_and_batching_gives_the_same_bytes(items: list[ChargeItem], rng: random.Random, batches: int) -> None:
    """Windows come in any order and the bucket is rated anew after each batch, from what is known by then."""
    at_once, bit_by_bit = Book(), Book()
    at_once.set(items)
    shuffled = rng.sample(items, len(items))
    for cut in sorted(rng.randint(0, len(items)) for _ in range(batches)):
        bit_by_bit.set(rng.sample(shuffled[:cut], cut))
    bit_by_bit.set(shuffled)
    assert canonical_items(shuffled) == canonical_items(items)
    assert sorted(bit_by_bit.live.values(), key=repr) == sorted(at_once.live.values(), key=repr)
    assert invoice_bytes(bit_by_bit.lines(rng)) == invoice_bytes(at_once.lines())


@given(facts(), st.lists(st.integers(1, 59), max_size=4))
def test_cut_at_any_minute_the_lines_are_the_same(items: list[ChargeItem], minutes: list[int]) -> None:
    whole, parts = Book(), Book()
    whole.set(items)
    parts.set(canonical_items(items, [NOON + timedelta(minutes=minute) for minute in minutes]))
    assert parts.lines() == whole.lines()


@given(facts(), facts())
def test_what_was_billed_and_its_corrections_add_up_to_what_is_right(
    first: list[ChargeItem], second: list[ChargeItem]
) -> None:
    book = Book()
    book.set(first)
    billed = book.lines()
    book.set(second)
    right = book.lines()
    corrections = adjust(right, billed_state(billed))
    assert sum(line.amount for line in [*billed, *corrections]) == sum(line.amount for line in right)
    assert adjust(right, billed_state([*billed, *corrections])) == []


def test_a_line_is_rounded_once() -> None:
    """Sixty minutes of 1/3 cent each are 20 cents, not 0."""
    minutes = [
        make_item(
            starts_at=NOON + timedelta(minutes=minute), ends_at=NOON + timedelta(minutes=minute + 1), quantity=1,
            divisor=3, unit_price=Decimal("0.01"),
        )
        for minute in range(60)
    ]  # fmt: skip
    book = Book()
    book.set(minutes)
    assert [str(line.amount) for line in book.lines()] == ["0.20"]
    assert line_amount(quantity=1, divisor=3, unit_price=Decimal("0.01"), currency="EUR") == 0


def test_sources_are_not_added_up() -> None:
    item = make_item()
    entries = [Entry(meter(item, source), NOON, NOON + HOUR, 450) for source in (2, 1)]
    assert [line.meter.source.int for line in rate(entries, currency="EUR")] == [1, 2]


def test_a_line_of_nothing_is_shown_but_not_corrected() -> None:
    book = Book()
    book.set([make_item(kind="reserved", quantity=0)])
    lines = book.lines()
    assert [str(line.amount) for line in lines] == ["0.00"]
    book.set([make_item(kind="reserved", quantity=0, text="another text")])
    assert adjust(book.lines(), billed_state(lines)) == []


def test_one_time_at_two_prices_of_one_id_is_refused() -> None:
    with pytest.raises(BadItem, match="twice"):
        canonical_items([make_item(), replace(make_item(), unit_price=Decimal(1))])
