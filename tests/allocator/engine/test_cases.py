"""Small stories with exact ends."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from uuid import UUID

import pytest

from allocator.engine.draft import Draft, NotPlaced
from allocator.engine.fit import refusal
from allocator.engine.fleet import Fleet
from allocator.engine.later import next_free
from allocator.engine.score import UnknownPolicy, rank
from tests.allocator.engine.by_card import constraint_counts, earliest, nearest_sizes
from tests.allocator.engine.strategies import make_ask, make_card, make_fleet

ONE = UUID(int=1)
TWO = UUID(int=2)


def placed(*asks: object, fleet: Fleet | None = None) -> Fleet:
    """All on the first card."""
    draft = Draft.of(fleet or make_fleet(1))
    for number, ask in enumerate(asks, start=10):
        draft.place(ONE, ask, lease_id=UUID(int=number))  # type: ignore[arg-type]
    return draft.fleet()


def test_back_to_back_fits_and_a_second_of_overlap_does_not() -> None:
    whole = partial(make_ask, permille=1000, mib=100)
    fleet = placed(whole(10, 11), whole(11, 12))
    assert refusal(fleet.cards[0], whole(12, 13)) is None
    assert refusal(fleet.cards[0], whole(11, 13)) == "memory_and_compute"


def test_sixteen_halves_on_eight_cards_and_no_seventeenth() -> None:
    draft, half = Draft.of(make_fleet(8)), make_ask(permille=500, mib=50)
    for number in range(16):
        best = rank(draft.fleet(), half, policy="spread", limit=1)[0]
        draft.place(best.card.device_id, half, lease_id=UUID(int=100 + number))
    assert [len(card.taken) for card in draft.fleet().cards] == [2] * 8
    assert constraint_counts(draft.fleet(), half) == {"memory_and_compute": 8}


def test_twenty_three_of_twenty_four_fit_by_memory() -> None:
    draft = Draft.of(Fleet.of([make_card(1, mib=46_068)]))
    ask = make_ask(permille=10, mib=2_000)
    for number in range(23):
        draft.place(ONE, ask, lease_id=UUID(int=100 + number))
    with pytest.raises(NotPlaced, match="memory"):
        draft.place(ONE, ask, lease_id=TWO)


def test_a_whole_device_and_slices_exclude_each_other() -> None:
    shared = placed(make_ask(5, 10))
    assert refusal(shared.cards[0], make_ask(0, 6, whole=True)) == "in_use"
    assert refusal(shared.cards[0], make_ask(0, 5, whole=True)) is None
    whole = placed(make_ask(0, 5, whole=True))
    assert refusal(whole.cards[0], make_ask(4, 5, permille=1, mib=1)) == "taken_whole"


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ({"device_id": TWO}, "other_device"),
        ({"kind": "nvidia"}, "other_kind"),
        ({"isolation_rank": 2}, "isolation"),
        ({"mib": 101}, "larger_than_device"),
    ],
)
def test_what_a_card_can_never_take(change: dict[str, object], constraint: str) -> None:
    ask = replace(make_ask(), **change)  # type: ignore[arg-type]
    assert refusal(make_card(1), ask) == constraint
    assert next_free(make_card(1), ask) is None


def test_an_offline_card_takes_nothing_and_promises_nothing() -> None:
    card = replace(make_card(1), online=False)
    assert refusal(card, make_ask()) == "offline"
    assert earliest(Fleet.of([card]), make_ask()) is None
    assert nearest_sizes(Fleet.of([card]), make_ask()) == []


def test_the_next_free_time_is_where_enough_has_ended() -> None:
    fleet = placed(make_ask(0, 8, permille=500, mib=10), make_ask(0, 4, permille=300, mib=10))
    assert next_free(fleet.cards[0], make_ask(1, 3, permille=400, mib=10)) == 4
    assert next_free(fleet.cards[0], make_ask(1, 3, permille=600, mib=10)) == 8


def test_the_nearest_sizes_come_nearest_first() -> None:
    fleet = placed(make_ask(permille=600, mib=20))
    sizes = [tuple(size) for size, _ in nearest_sizes(fleet, make_ask(permille=500, mib=90))]
    assert sizes == [(400, 80), (400, 72)]


def test_binpack_fills_and_spread_empties() -> None:
    fleet = Fleet.of([*placed(make_ask()).cards, make_card(2)])
    assert [one.card.device_id for one in rank(fleet, make_ask(), policy="binpack", limit=2)] == [ONE, TWO]
    assert [one.card.device_id for one in rank(fleet, make_ask(), policy="spread", limit=2)] == [TWO, ONE]
    assert rank(fleet, make_ask(), policy="binpack", limit=1)[0].terms == {"compute_used": 350, "memory_used": 150}


def test_an_unknown_policy_is_an_error() -> None:
    with pytest.raises(UnknownPolicy, match="luck"):
        rank(make_fleet(1), make_ask(), policy="luck", limit=1)
