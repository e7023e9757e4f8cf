"""What the engine never does."""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from allocator.engine.draft import Draft, NotPlaced
from allocator.engine.fit import refusal
from allocator.engine.fleet import FOREVER, Ask, Fleet, Taken
from allocator.engine.later import next_free
from allocator.engine.score import rank
from tests.allocator.engine.by_card import constraint_counts, earliest, nearest_sizes
from tests.allocator.engine.strategies import asks, fits_by_hand, instants, make_fleet, usage_at

orders = st.lists(st.tuples(asks(), st.integers(0, 1)), max_size=14)


def drafted(wanted: list[tuple[Ask, int]]) -> Draft:
    """Each ask tried on one of two cards; what does not fit is left out."""
    draft = Draft.of(make_fleet(2))
    for number, (ask, card) in enumerate(wanted, start=1):
        try:
            draft.place(UUID(int=card + 1), ask, lease_id=UUID(int=number))
        except NotPlaced:
            continue
    return draft


@given(orders)
def test_never_oversold(wanted: list[tuple[Ask, int]]) -> None:
    for card in drafted(wanted).fleet().cards:
        for instant in instants(card):
            permille, mib = usage_at(card, instant)
            assert permille <= card.permille
            assert mib <= card.mib
            running = [piece for piece in card.taken if piece.starts <= instant < piece.ends]
            assert len(running) <= 1 or not any(piece.whole for piece in running)


@given(orders, asks())
def test_a_refusal_is_what_every_instant_says(wanted: list[tuple[Ask, int]], ask: Ask) -> None:
    for card in drafted(wanted).fleet().cards:
        assert (refusal(card, ask) is None) == fits_by_hand(card, ask)


@given(orders, asks())
def test_next_free_is_the_first_start_that_fits(wanted: list[tuple[Ask, int]], ask: Ask) -> None:
    length = None if ask.ends == FOREVER else ask.ends - ask.starts
    for card in drafted(wanted).fleet().cards:
        found = next_free(card, ask)
        by_hand = None
        for start in range(ask.starts, 4 * 12):
            end = FOREVER if length is None else start + length
            later = Ask(permille=ask.permille, mib=ask.mib, starts=start, ends=end, whole=ask.whole)
            if fits_by_hand(card, later):
                by_hand = start
                break
        assert found == by_hand


@given(orders, orders)
def test_rollback_restores_the_fleet(before: list[tuple[Ask, int]], after: list[tuple[Ask, int]]) -> None:
    draft = drafted(before)
    fleet, plan, mark = draft.fleet(), draft.plan(), draft.mark()
    for number, (ask, card) in enumerate(after, start=1000):
        with suppress(NotPlaced):
            draft.place(UUID(int=card + 1), ask, lease_id=UUID(int=number))
    draft.remove(UUID(int=1))
    draft.rollback(mark)
    assert draft.fleet() == fleet
    assert draft.plan() == plan


@given(orders)
def test_what_is_placed_is_conserved_until_removed(wanted: list[tuple[Ask, int]]) -> None:
    draft = drafted(wanted)
    placed = len(draft.plan().steps)
    removed = sum(draft.remove(UUID(int=number)) for number in range(1, len(wanted) + 1))
    assert removed == placed
    assert draft.fleet() == make_fleet(2)


@given(orders)
def test_every_prefix_of_a_plan_is_a_legal_fleet(wanted: list[tuple[Ask, int]]) -> None:
    replay = Draft.of(make_fleet(2))
    for step in drafted(wanted).plan().steps:
        piece = step.taken
        assert isinstance(piece, Taken)
        ask = Ask(permille=piece.permille, mib=piece.mib, starts=piece.starts, ends=piece.ends, whole=piece.whole)
        replay.place(step.place_id, ask, lease_id=piece.lease_id)


@given(orders, asks(), st.sampled_from(["binpack", "spread"]), st.randoms(use_true_random=False))
def test_ranking_is_deterministic_and_complete(
    wanted: list[tuple[Ask, int]], ask: Ask, policy: str, random: object
) -> None:
    fleet = drafted(wanted).fleet()
    shuffled = list(fleet.cards)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    ranked = rank(fleet, ask, policy=policy, limit=8)
    assert ranked == rank(Fleet.of(shuffled), ask, policy=policy, limit=8)
    assert {one.card.device_id for one in ranked} == {c.device_id for c in fleet.cards if fits_by_hand(c, ask)}
    assert all(one.score == sum(one.terms.values()) for one in ranked)


@given(orders, asks())
def test_every_way_that_a_no_names_is_a_way(wanted: list[tuple[Ask, int]], ask: Ask) -> None:
    fleet = drafted(wanted).fleet()
    for size, card in nearest_sizes(fleet, ask):
        smaller = Ask(permille=size.permille, mib=size.mib, starts=ask.starts, ends=ask.ends)
        assert fits_by_hand(card, smaller)
        assert size.permille <= ask.permille
        assert size.mib <= ask.mib
    later = earliest(fleet, ask)
    assert later is None or all((next_free(card, ask) or FOREVER) >= later.starts for card in fleet.cards)
    ruled_out = sum(constraint_counts(fleet, ask).values())
    assert ruled_out == sum(not fits_by_hand(card, ask) for card in fleet.cards)
