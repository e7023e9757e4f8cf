"""The drawn calendar says what the evaluator says."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from allocator.engine.calendar import Span, free_spans, lanes
from allocator.engine.fit import refusal
from allocator.engine.fleet import FOREVER, Ask, Card, Closed
from allocator.engine.later import next_free
from tests.allocator.engine.strategies import SPAN, asks, instants, make_ask, make_card
from tests.allocator.engine.test_properties import drafted, orders

closures = st.lists(
    st.tuples(st.integers(0, SPAN - 1), st.integers(1, SPAN)).map(lambda pair: Closed(pair[0], pair[0] + pair[1])),
    max_size=2,
).map(tuple)


def fits_at(card: Card, ask: Ask, instant: int) -> bool:
    return refusal(card, replace(ask, starts=instant, ends=instant + 1)) is None


@given(orders, asks(), closures)
def test_free_spans_are_the_instants_at_which_it_fits(
    wanted: list[tuple[Ask, int]], ask: Ask, closed: tuple[Closed, ...]
) -> None:
    for card in drafted(wanted).fleet().cards:
        closing = replace(card, closed=closed)
        spans = free_spans(closing, ask)
        for instant in instants(card):
            if ask.starts <= instant < ask.ends:
                assert any(span.starts <= instant < span.ends for span in spans) == fits_at(closing, ask, instant)
        assert all(early.ends < late.starts for early, late in pairwise(spans))


@given(orders, closures)
def test_next_free_keeps_clear_of_maintenance(wanted: list[tuple[Ask, int]], closed: tuple[Closed, ...]) -> None:
    ask = make_ask(0, 2)
    for card in drafted(wanted).fleet().cards:
        closing = replace(card, closed=closed)
        start = next_free(closing, ask)
        fitting = [at for at in range(4 * SPAN) if refusal(closing, replace(ask, starts=at, ends=at + 2)) is None]
        assert start == min(fitting, default=None)


def test_a_cordoned_card_and_one_that_is_silent_have_no_free_time() -> None:
    card = make_card(1)
    assert free_spans(card, make_ask(0, 10)) == [Span(0, 10)]
    for closed in (replace(card, cordoned=True), replace(card, online=False)):
        assert free_spans(closed, make_ask(0, 10)) == []
        assert next_free(closed, make_ask(0, 10)) is None
    assert free_spans(card, make_ask(5, 5)) == []
    assert free_spans(replace(card, closed=(Closed(3, FOREVER),)), make_ask(0, 10)) == [Span(0, 3)]


def test_an_open_maintenance_is_named_before_the_cordon() -> None:
    closed = replace(make_card(1), cordoned=True, closed=(Closed(5, FOREVER),))
    assert refusal(closed, make_ask(0, 4)) == "cordoned"
    assert refusal(closed, make_ask(0, 6)) == "maintenance"


@given(orders)
def test_no_two_of_a_lane_overlap(wanted: list[tuple[Ask, int]]) -> None:
    for card in drafted(wanted).fleet().cards:
        rows = lanes(card.taken)
        for number, (piece, lane) in enumerate(zip(card.taken, rows, strict=True)):
            for other, row in zip(card.taken[:number], rows[:number], strict=True):
                assert lane != row or other.ends <= piece.starts or piece.ends <= other.starts
