"""Places for all that was lost, some of them found earlier, against the rule said instant by instant."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from allocator.engine.draft import Draft
from allocator.engine.fail_over import Need, Spot, place_all
from allocator.engine.fleet import Ask, Fleet
from allocator.engine.policies import POLICIES
from tests.allocator.engine.strategies import make_ask, make_fleet
from tests.allocator.engine.worlds import fleets, is_legal, loaded, loads, plain_asks

needs = st.lists(plain_asks(), max_size=10).map(
    lambda asks: [need_of(number, ask) for number, ask in enumerate(asks, start=1)]
)


def need_of(number: int, ask: Ask) -> Need:
    return Need(key=UUID(int=number), parts=((ask, POLICIES["fragmentation"]),))


def standing_by(fleet: Fleet, node: int) -> Fleet:
    """One node is the reserve."""
    cards = (replace(card, standby=card.node_id == UUID(int=node)) for card in fleet.cards)
    return Fleet.of(cards, fleet.machines)


def with_all(fleet: Fleet, wanted: list[Need], spots: dict[UUID, Spot]) -> Fleet:
    """As if they had been booked."""
    draft = Draft.of(fleet)
    for need in wanted:
        if need.key in spots:
            draft.keep(spots[need.key].device_id, need.ask, spots[need.key].slots, lease_id=need.key)
    return draft.fleet()


@given(fleets(), loads, needs, st.integers(1, 3), st.integers(1, 3), st.sets(st.integers(1, 10)))
def test_who_is_looked_for_later_fits_beside_who_has_a_place(
    fleet: Fleet, load: object, wanted: list[Need], reserve: int, leaving: int, dropped: set[int]
) -> None:
    fleet = standing_by(loaded(fleet, load).fleet(), reserve)  # type: ignore[arg-type]
    gone = {UUID(int=leaving)}
    first = place_all(Draft.of(fleet), wanted, leaving=gone)
    assert is_legal(with_all(fleet, wanted, first))
    assert not {spot.node_id for spot in first.values()} & gone
    kept = {key: spot for key, spot in first.items() if key.int not in dropped}
    second = place_all(Draft.of(fleet), wanted, kept=kept, leaving=gone)
    assert kept.items() <= second.items()
    assert is_legal(with_all(fleet, wanted, second))
    assert not {spot.node_id for spot in second.values()} & gone


def test_a_place_whose_device_is_gone_is_looked_for_anew() -> None:
    need = need_of(1, make_ask())
    (spot,) = place_all(Draft.of(make_fleet(1)), [need]).values()
    assert spot.device_id == UUID(int=1)
    other = Fleet.of(card for card in make_fleet(2).cards if card.device_id != spot.device_id)
    (found,) = place_all(Draft.of(other), [need], kept={need.key: spot}).values()
    assert found.device_id == UUID(int=2)
