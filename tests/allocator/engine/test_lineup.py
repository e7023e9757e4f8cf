"""The queue against the calendar: who starts, whose room is kept, and when the rest would start."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allocator.engine.draft import Draft
from allocator.engine.fleet import FOREVER, Ask, Card, Fleet, Taken, peak
from allocator.engine.gang import Together
from allocator.engine.lineup import Waiting, _Line, line_up, moved
from allocator.engine.waiting_time import Guesses, quantile, replay
from tests.allocator.engine.by_card import earliest

NONE = Guesses({}, {})


def card(number: int, *taken: Taken, kind: str = "cpu") -> Card:
    return Card(device_id=UUID(int=number), node_id=UUID(int=100 + number), kind=kind, isolation_rank=0, permille=1000,
                mib=8000, taken=taken)  # fmt: skip


def taken(ends: int, permille: int = 1000, lease: int = 1) -> Taken:
    return Taken(lease_id=UUID(int=lease), starts=0, ends=ends, permille=permille, mib=8 * permille)


def wait(number: int, permille: int = 1000, length: int = 10, **over: Any) -> Waiting:
    ask = Ask(permille=permille, mib=8 * permille, starts=0, ends=length, kind=over.pop("kind", "cpu"))
    return Waiting(id=UUID(int=100 + number), asks=(ask,) * over.pop("members", 1), **over)


def told(fleet: Fleet, *queue: Waiting) -> list[int | bool | None]:
    return [True if one.fits else one.starts for one in line_up(Draft.of(fleet), queue)]


def test_a_short_wish_passes_beside_the_heads_room_and_a_long_one_does_not() -> None:
    fleet = Fleet.of([card(1, taken(20, 500))])
    assert told(fleet, wait(1), wait(2, 500, 21), wait(3, 500, 20)) == [20, None, True]


def test_another_device_is_no_matter_of_the_heads() -> None:
    fleet = Fleet.of([card(1, taken(20)), card(2, taken(FOREVER, 500)), card(3, kind="nvidia")])
    assert told(fleet, wait(1), wait(2, 500, FOREVER), wait(3, kind="nvidia")) == [20, True, True]


def test_only_the_head_of_those_that_compete_has_room_kept() -> None:
    fleet = Fleet.of([card(1, taken(20)), card(2, taken(30), kind="nvidia")])
    assert told(fleet, wait(1), wait(2), wait(3, kind="nvidia")) == [20, None, 30]


def test_two_gangs_of_a_hundred_on_a_hundred_devices_do_not_lock_each_other() -> None:
    fleet = Fleet.of(card(number) for number in range(1, 101))
    gangs = [wait(number, members=100, together=Together.DEVICES) for number in (1, 2)]
    first, second = line_up(Draft.of(fleet), gangs)
    assert (first.fits, second.fits, second.starts, len(second.kept)) == (True, False, 10, 100)


def test_an_elder_without_an_end_in_sight_collects_on_one_device() -> None:
    fleet = Fleet.of([card(1, taken(FOREVER, 600, 1)), card(2, taken(FOREVER, 300, 2))])
    assert told(fleet, wait(1), wait(2, 400)) == [None, True]
    elder = wait(1, collects=True)
    stand, _, behind = line_up(Draft.of(fleet), [elder, wait(2, 400), wait(3, 400)])
    assert (stand.fits, [kept.device_id.int for kept in stand.kept], behind.fits) == (False, [2], False)
    again = line_up(Draft.of(fleet), [replace(elder, collect_on=UUID(int=1))])[0]
    assert [kept.device_id.int for kept in again.kept] == [1]


def test_the_reason_is_counted_over_the_devices() -> None:
    fleet = Fleet.of([card(1, taken(20, 900)), card(2, kind="nvidia")])
    assert line_up(Draft.of(fleet), [wait(1)])[0].counts == {"memory_and_compute": 1, "other_kind": 1}


lengths = st.sampled_from([1, 5, 20, FOREVER])
wishes = st.lists(st.tuples(st.integers(1, 1000), lengths, st.sampled_from(["cpu", "nvidia"])), max_size=8)
fleets = st.lists(st.tuples(st.integers(0, 1000), lengths, st.sampled_from(["cpu", "nvidia"])), min_size=1, max_size=4)


def made(rows: list[tuple[int, int, str]]) -> Fleet:
    return Fleet.of(
        card(n, *([taken(ends, permille, n)] if permille else []), kind=kind)
        for n, (permille, ends, kind) in enumerate(rows, 1)
    )


@settings(max_examples=60)
@given(fleets, wishes)
def test_all_who_start_and_all_rooms_that_are_kept_go_together(rows: Any, wanted: Any) -> None:
    """So nobody who starts delays the room that is kept for another, nor anything that is booked."""
    queue = [wait(n, permille, length, kind=kind) for n, (permille, length, kind) in enumerate(wanted, 1)]
    line = _Line(Draft.of(made(rows)))
    stands = [line.stand(one) for one in queue]
    for one in line._draft.fleet().cards:
        top = peak(one.taken, 0, FOREVER)
        assert (top.permille <= one.permille, top.mib <= one.mib) == (True, True)
    placed = {piece.lease_id for one in line._draft.fleet().cards for piece in one.taken if piece.lease_id.int > 99}
    assert placed == {stand.id for stand in stands if stand.fits or stand.kept}


@settings(max_examples=60)
@given(fleets, wishes)
def test_a_replay_never_lets_a_later_wish_delay_an_earlier_one(rows: Any, wanted: Any) -> None:
    queue = [wait(n, permille, length, kind=kind) for n, (permille, length, kind) in enumerate(wanted, 1)]
    starts = replay(made(rows), queue, guesses=NONE)
    for upto in range(len(queue)):
        assert replay(made(rows), queue[:upto], guesses=NONE) == starts[:upto]


def test_open_ends_are_guessed_and_without_a_guess_nothing_is_known() -> None:
    fleet = Fleet.of([card(1, taken(FOREVER))])
    queue = [wait(1, length=FOREVER), wait(2)]
    assert replay(fleet, queue, guesses=NONE) == [None, None]
    guesses = Guesses({UUID(int=1): 30}, {UUID(int=101): 12})
    assert replay(fleet, queue, guesses=guesses) == [30, 42]


def test_gangs_are_replayed_as_one() -> None:
    fleet = Fleet.of([card(1, taken(20)), card(2, taken(50)), card(3, taken(40))])
    queue = [wait(1, members=2), wait(2, members=3), wait(3)]
    assert replay(fleet, queue, guesses=NONE) == [40, 50, 20]


@pytest.mark.parametrize(("permille", "wanted"), [(500, 2), (900, None), (501, 3), (1, 1)])
def test_quantiles_count_never_as_the_latest(permille: int, wanted: int | None) -> None:
    assert quantile([3, 1, None, 2], permille) == wanted
    assert quantile([], permille) is None


@settings(max_examples=60)
@given(fleets, wishes)
def test_a_replay_gives_each_wish_the_soonest_start_that_is_left(rows: Any, wanted: Any) -> None:
    """Against the plain search, card by card."""
    fleet = made(rows)
    queue = [wait(n, permille, length, kind=kind) for n, (permille, length, kind) in enumerate(wanted, 1)]
    draft = Draft.of(fleet)
    for one, start in zip(queue, replay(fleet, queue, guesses=NONE), strict=True):
        best = earliest(draft.fleet(), one.asks[0])
        assert start == (None if best is None else best.starts)
        if best is not None:
            draft.place(best.card.device_id, moved(one.asks[0], best.starts), lease_id=one.id)
