"""What a slice takes on a card outside its own count."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.overhead import GRANULE_BYTES, Overhead, next_overhead
from vxpu.units import MIB


def test_it_rises_by_what_two_looks_agree_on_and_falls_at_once() -> None:
    one = next_overhead(Overhead(), on_card_bytes=500 * MIB, counted_bytes=100 * MIB)
    assert one.published_bytes == 0
    two = next_overhead(one, on_card_bytes=340 * MIB, counted_bytes=100 * MIB)
    assert two.published_bytes == 240 * MIB
    assert next_overhead(two, on_card_bytes=110 * MIB, counted_bytes=100 * MIB).published_bytes == 10 * MIB


def test_an_allocation_under_way_is_not_published() -> None:
    known = Overhead()
    for _ in range(5):
        known = next_overhead(known, on_card_bytes=900 * MIB, counted_bytes=100 * MIB)  # the card has it already
        known = next_overhead(known, on_card_bytes=900 * MIB, counted_bytes=900 * MIB)  # now the slot says so too
        assert known == Overhead()


def test_a_guest_that_counts_too_much_or_rubbish_is_bounded_by_the_card() -> None:
    assert next_overhead(Overhead(), on_card_bytes=50 * MIB, counted_bytes=2**63).published_bytes == 0
    first = next_overhead(Overhead(), on_card_bytes=50 * MIB, counted_bytes=-(2**63))
    assert next_overhead(first, on_card_bytes=50 * MIB, counted_bytes=-1).published_bytes == 50 * MIB


@given(st.lists(st.tuples(st.integers(0, 2**40), st.integers(-(2**40), 2**40)), max_size=30))
def test_it_is_never_above_what_the_card_holds_for_the_slice(looks: list[tuple[int, int]]) -> None:
    known, seen = Overhead(), 0
    for on_card, counted in looks:
        known = next_overhead(known, on_card_bytes=on_card, counted_bytes=counted)
        seen = max(seen, on_card)
        assert 0 <= known.published_bytes < seen + GRANULE_BYTES
