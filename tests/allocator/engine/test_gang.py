"""All or none, and near enough: against every assignment by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allocator.engine.draft import Draft, NotPlaced
from allocator.engine.fleet import Ask, Card, Fleet, Machine
from allocator.engine.gang import Member, Together, place_gang
from allocator.engine.policies import POLICIES
from tests.allocator.engine.strategies import make_ask, make_card
from tests.allocator.engine.worlds import is_legal

WHOLE = make_ask(permille=1000, mib=100, whole=True)
NEAR = [Together.DEVICES, Together.NODE, Together.RACK, Together.SITE]


def nodes(*devices: int, cores: int = 2**40, racks: Sequence[str] = ()) -> Fleet:
    """So many devices on each node; device ids are 100 x node + number."""
    cards, machines = [], []
    for node, count in enumerate(devices, start=1):
        machines.append(
            Machine(node_id=UUID(int=node), cores_milli=cores, rack=racks[node - 1] if racks else "", site="s")
        )
        cards += [replace(make_card(100 * node + number), node_id=UUID(int=node)) for number in range(count)]
    return Fleet.of(cards, machines)


def gang(
    draft: Draft, asks: Sequence[Ask], together: Together, *, policy: str = "binpack", first: int = 1
) -> list[Member]:
    leases = [UUID(int=first + number) for number in range(len(asks))]
    return place_gang(draft, asks, together=together, policy=POLICIES[policy], lease_ids=leases)


def test_of_two_groups_of_a_hundred_one_gets_all_and_the_other_holds_nothing() -> None:
    draft = Draft.of(nodes(*[8] * 12, 4))
    members = gang(draft, [WHOLE] * 100, Together.DEVICES)
    assert len({member.device_id for member in members}) == 100
    before, plan = draft.fleet(), draft.plan()
    with pytest.raises(NotPlaced, match="in_use") as refused:
        gang(draft, [WHOLE] * 100, Together.DEVICES, first=500)
    assert refused.value.counts == {"in_use": 100}
    assert (draft.fleet(), draft.plan()) == (before, plan)


@pytest.mark.parametrize("together", NEAR)
def test_eight_devices_are_eight_distinct_ones_in_the_order_of_their_ids(together: Together) -> None:
    draft = Draft.of(nodes(4, 8))
    members = gang(draft, [make_ask(permille=100, mib=10)] * 8, together)
    ids = [member.device_id.int for member in members]
    assert ids == sorted(set(ids))
    assert len(ids) == 8
    if together is Together.NODE:
        assert {member.row for member in members} == {1}
    with pytest.raises(NotPlaced, match="not_together") as refused:
        gang(Draft.of(nodes(4, 4)), [WHOLE] * 8, Together.NODE)
    assert refused.value.counts == {"not_together": 8}


def test_any_may_share_a_device() -> None:
    members = gang(Draft.of(nodes(1)), [make_ask(permille=100, mib=10)] * 10, Together.ANY)
    assert {member.device_id.int for member in members} == {100}
    with pytest.raises(NotPlaced, match="not_together"):
        gang(Draft.of(nodes(1)), [make_ask(permille=100, mib=10)] * 11, Together.ANY)


def test_a_rack_is_filled_where_it_is_tightest_and_no_name_is_no_rack() -> None:
    fleet = nodes(2, 2, 3, 2, 1, racks=["a", "a", "b", "b", ""])
    members = gang(Draft.of(fleet), [WHOLE] * 4, Together.RACK)
    assert {member.row for member in members} == {0, 1}
    members = gang(Draft.of(fleet), [WHOLE] * 5, Together.RACK)
    assert {member.row for member in members} == {2, 3}
    with pytest.raises(NotPlaced, match="not_together"):
        gang(Draft.of(nodes(1, 1)), [WHOLE] * 2, Together.RACK)


def test_the_host_has_to_bear_all_of_them() -> None:
    asks = [replace(WHOLE, cores_milli=3)] * 2
    assert len(gang(Draft.of(nodes(2, cores=6)), asks, Together.NODE)) == 2
    with pytest.raises(NotPlaced, match="not_together"):
        gang(Draft.of(nodes(2, cores=5)), asks, Together.NODE)


def test_bulk_is_one_by_one() -> None:
    half = make_ask(permille=500, mib=50)
    draft = Draft.of(nodes(4, 4))
    gang(draft, [half] * 16, Together.ANY)
    assert [len(card.taken) for card in draft.fleet().cards] == [2] * 8
    with pytest.raises(NotPlaced) as refused:
        gang(draft, [half], Together.ANY, first=99)
    assert refused.value.counts == {"memory_and_compute": 8}


def test_what_is_no_gang_is_refused_and_none_is_placed() -> None:
    draft = Draft.of(nodes(2))
    with pytest.raises(NotPlaced, match="impossible_shape"):
        gang(draft, [WHOLE, make_ask(permille=0)], Together.NODE)
    assert gang(draft, [], Together.NODE) == []
    assert draft.plan().steps == ()


sizes = st.sampled_from([(300, 30), (500, 50), (700, 20), (1000, 100), (200, 80)])


@st.composite
def problems(draw: st.DrawFn) -> tuple[Draft, list[Ask], Together]:
    """Up to six devices on up to three nodes, some in use, and a gang of up to four."""
    fleet = nodes(*draw(st.lists(st.integers(1, 2), min_size=1, max_size=3)), cores=draw(st.sampled_from([5, 9])),
                  racks=draw(st.sampled_from([["a", "a", "b"], ["a", "b", ""]])))  # fmt: skip
    draft = Draft.of(fleet)
    for number, card in enumerate(fleet.cards):
        if draw(st.booleans()):
            permille, mib = draw(sizes)
            draft.place(card.device_id, make_ask(permille=permille, mib=mib), lease_id=UUID(int=900 + number))
    asks = [
        replace(make_ask(permille=permille, mib=mib), cores_milli=draw(st.sampled_from([0, 2, 3])))
        for permille, mib in draw(st.lists(sizes, min_size=1, max_size=4))
    ]
    return draft, asks, draw(st.sampled_from(list(Together)))


def is_possible(fleet: Fleet, asks: Sequence[Ask], together: Together) -> bool:
    """Every assignment."""
    cards = fleet.cards
    ways = product(cards, repeat=len(asks)) if together is Together.ANY else permutations(cards, len(asks))
    return any(is_near(fleet, way, together) and fits(fleet, way, asks) for way in ways)


def is_near(fleet: Fleet, way: Sequence[Card], together: Together) -> bool:
    machines = {machine.node_id: machine for machine in fleet.machines}
    if together is Together.NODE:
        return len({card.node_id for card in way}) == 1
    if together is Together.RACK:
        racks = {machines[card.node_id].rack or str(card.node_id) for card in way}
        return len(racks) == 1
    return True


def fits(fleet: Fleet, way: Sequence[Card], asks: Sequence[Ask]) -> bool:
    draft = Draft.of(fleet)
    for number, (card, ask) in enumerate(zip(way, asks, strict=True)):
        try:
            draft.place(card.device_id, ask, lease_id=UUID(int=number))
        except NotPlaced:
            return False
    return True


@settings(max_examples=80)
@given(problems(), st.sampled_from(sorted(POLICIES)))
def test_a_gang_is_placed_exactly_when_some_assignment_is_legal(
    problem: tuple[Draft, list[Ask], Together], policy: str
) -> None:
    draft, asks, together = problem
    before, plan = draft.fleet(), draft.plan()
    try:
        members = gang(draft, asks, together, policy=policy)
    except NotPlaced as error:
        possible = is_possible(before, asks, together)
        counts = error.counts
    else:
        cards = {card.device_id: card for card in before.cards}
        assert is_legal(draft.fleet())
        assert is_near(before, [cards[member.device_id] for member in members], together)
        assert sorted(member.index for member in members) == list(range(len(asks)))
        assert together is Together.ANY or len({member.device_id for member in members}) == len(asks)
        return
    assert not possible
    assert sum(counts.values()) >= len(before.cards)
    assert (draft.fleet(), draft.plan()) == (before, plan)
