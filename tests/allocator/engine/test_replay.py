"""Replays: exact on small stories, and sums that add up on any."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocator.engine.fleet import Ask, Fleet, Machine
from allocator.engine.policies.binpack import Binpack
from allocator.engine.replay import Outcome, Request, Stopped, Trial, edited, quantile, replay
from tests.allocator.engine.strategies import make_card, make_fleet

BINPACK = Trial(policy=Binpack())


def request(
    arrives: int, duration: int, permille: int = 500, patience: int | None = 0, *, devices: int = 1, rank: int = 0
) -> Request:
    ask = Ask(permille=permille, mib=permille // 10, starts=0, devices=devices)
    return Request(arrives=arrives, duration=duration, ask=ask, patience=patience, rank=rank)


def run(fleet: Fleet, *requests: Request, trial: Trial = BINPACK, ends: int = 100) -> Outcome:
    return replay(fleet, requests, trial, ends=ends)


def test_the_third_half_waits_for_the_first_to_end() -> None:
    found = run(make_fleet(1), request(0, 40), request(0, 80), request(10, 20, patience=None))
    assert (found.placed, found.waiting, found.refused) == (3, 0, {})
    assert (found.wait_p50, found.wait_p90) == (0, 30)
    assert found.used == found.taken == (40 + 80 + 20) * 500 // 100
    assert found.stranded == 1000  # all that was free was on a device in part use


def test_whole_cards_waste_what_the_slices_leave() -> None:
    asked = [request(0, 100), request(0, 100, patience=None)]
    sliced, whole = run(make_fleet(1), *asked), run(make_fleet(1), *asked, trial=replace(BINPACK, whole_cards=True))
    assert (sliced.placed, sliced.used, sliced.taken) == (2, 1000, 1000)
    assert (whole.placed, whole.used, whole.taken, whole.waiting) == (1, 500, 1000, 1)


def test_refusals_have_reasons() -> None:
    two = make_fleet(2)
    found = run(
        two, request(0, 90, 700), request(1, 90, 700), request(2, 9, 500), request(3, 9, 700), request(4, 9, 800)
    )
    assert found.refused == {"full": 2, "scattered": 1}
    assert run(two, request(0, 9, devices=2)).refused == {"impossible": 1}


def test_patience_ends_and_urgent_goes_first() -> None:
    short = run(make_fleet(1), request(0, 90, 1000), request(1, 5, 1000, patience=20))
    assert (short.placed, short.refused) == (1, {"full": 1})
    first = run(make_fleet(1), request(0, 50, 1000), request(1, 50, 1000, None), request(2, 50, 1000, None, rank=1))
    assert (first.placed, first.waiting, first.wait_p90) == (2, 1, 48)


def test_moves_make_room() -> None:
    cards = [replace(make_card(number), node_id=UUID(int=1 + (number > 2))) for number in (1, 2, 3)]
    fleet = Fleet.of(cards, [Machine(node_id=UUID(int=1)), Machine(node_id=UUID(int=2))])
    # The share goes to the first node; then two whole devices of one node are wanted.
    asked = [request(0, 90, 300), request(1, 90, 1000, devices=2)]
    assert run(fleet, *asked).refused == {"not_together": 1}
    moved = run(fleet, *asked, trial=replace(BINPACK, moves=2))
    assert (moved.placed, moved.moves) == (2, 1)


def test_another_fleet() -> None:
    fleet = make_fleet(2)
    less = edited(fleet, remove=[fleet.cards[0].node_id])
    assert len(less.cards) == len(less.machines) == 1
    more = edited(fleet, add=[(Machine(node_id=UUID(int=9)), [replace(make_card(9), node_id=UUID(int=9))])])
    assert [card.device_id.int for card in more.cards] == [1, 2, 9]
    assert run(less, request(0, 9, 1000), request(0, 9, 1000)).placed == 1
    assert run(more, *[request(0, 9, 1000)] * 3).placed == 3


def test_it_stops_when_told() -> None:
    with pytest.raises(Stopped):
        replay(make_fleet(1), [request(0, 1)], BINPACK, ends=9, go_on=lambda done, total: (done, total) != (0, 1))
    assert run(make_fleet(1)).requests == 0
    assert quantile([], 500) == 0


@given(
    st.lists(st.builds(request, st.integers(0, 90), st.integers(0, 60), st.integers(1, 1000),
                       st.sampled_from([0, 10, None]), rank=st.integers(0, 1), devices=st.integers(1, 2))),
    st.booleans(), st.sampled_from([0, 2]),
)  # fmt: skip
def test_the_sums_add_up(requests: list[Request], whole_cards: bool, moves: int) -> None:
    cards = [replace(make_card(number), node_id=UUID(int=1 + number // 3)) for number in (1, 2, 3)]
    trial = replace(BINPACK, whole_cards=whole_cards, moves=moves)
    found = run(Fleet.of(cards), *requests, trial=trial)
    assert found == run(Fleet.of(cards), *requests, trial=trial)
    assert found.placed + sum(found.refused.values()) + found.waiting == found.requests == len(requests)
    assert 0 <= found.used <= found.taken <= 1000
    assert 0 <= found.wait_p50 <= found.wait_p90
