"""What cannot be had is refused with counts, by every policy, and counting is exact."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from allocator.engine.draft import Draft, NotPlaced
from allocator.engine.fleet import Ask, Fleet, Machine
from allocator.engine.gang import Together, place_gang
from allocator.engine.policies import POLICIES
from allocator.engine.score import rank
from allocator.engine.search import Ranker
from tests.allocator.engine.by_card import constraint_counts, earliest, largest_free, nearest_sizes
from tests.allocator.engine.strategies import make_ask, make_card, make_fleet

HALF = make_ask(permille=500, mib=50)


@pytest.mark.parametrize(
    ("wrong", "counts"),
    [
        ({"permille": 0}, {"impossible_shape": 2}), ({"mib": -1}, {"impossible_shape": 2}),
        ({"ends": 0}, {"impossible_shape": 2}), ({"devices": -1}, {"impossible_shape": 2}),
        ({"cores_milli": 2**80}, {"impossible_shape": 2}), ({"permille": 1001}, {"larger_than_device": 2}),
        ({"copy_permille": 1001}, {"larger_than_device": 2}), ({"models": frozenset({"no such"})}, {"other_model": 2}),
        ({"models": frozenset()}, {"other_model": 2}), ({"pool": "no such"}, {"other_pool": 2}),
        ({"site": "no such"}, {"other_site": 2}), ({"kind": "no such"}, {"other_kind": 2}),
        ({"device_id": UUID(int=1), "kind": "no such"}, {"other_device": 1, "other_kind": 1}),
        ({"device_id": UUID(int=99)}, {"other_device": 2}), ({"cores_milli": 9}, {"host_cores": 2}),
        ({"host_mib": 9}, {"host_memory": 2}), ({"devices": 2}, {"not_together": 2}),
        ({"devices": 9, "mib": 101}, {"larger_than_device": 2}),
    ],
)  # fmt: skip
def test_what_nobody_has_is_refused_by_its_name(wrong: dict[str, object], counts: dict[str, int]) -> None:
    hosts = [Machine(node_id=UUID(int=number), cores_milli=8, mib=8) for number in (1, 2)]
    fleet, ask = Fleet.of(make_fleet(2).cards, hosts), replace(make_ask(), **wrong)  # type: ignore[arg-type]
    draft = Draft.of(fleet)
    view = draft.view(ask.starts, ask.ends)
    assert view.counts(ask) == constraint_counts(fleet, ask) == counts
    for policy in POLICIES.values():
        assert Ranker(view, policy).best(ask) is None
    assert earliest(fleet, ask) is None
    with pytest.raises(NotPlaced):
        place_gang(draft, [ask], together=Together.ANY, policy=POLICIES["binpack"], lease_ids=[UUID(int=7)])


def test_no_fleet_is_no_error() -> None:
    empty = Fleet.of([])
    assert (constraint_counts(empty, HALF), earliest(empty, HALF), largest_free(empty, HALF)) == ({}, None, None)
    assert [rank(empty, HALF, policy=policy, limit=8) for policy in POLICIES] == [[]] * len(POLICIES)
    hosts_only = Fleet.of([], [Machine(node_id=UUID(int=1))])
    assert Draft.of(hosts_only).view(0, 1).counts(HALF) == {}
    with pytest.raises(NotPlaced, match="not_together"):
        place_gang(Draft.of(hosts_only), [HALF], together=Together.NODE, policy=POLICIES["topology"],
                   lease_ids=[UUID(int=1)])  # fmt: skip


def test_a_device_that_shrinks_takes_nothing_more_and_breaks_nothing() -> None:
    draft = Draft.of(make_fleet(1))
    draft.place(UUID(int=1), make_ask(0, 5, permille=900, mib=90), lease_id=UUID(int=1))
    draft.place(UUID(int=1), make_ask(0, 9, permille=100, mib=10), lease_id=UUID(int=2))
    shrunk = Fleet.of(replace(card, permille=500, mib=20) for card in draft.fleet().cards)
    small = make_ask(permille=1, mib=1)
    assert Draft.of(shrunk).view(0, 9).counts(small) == {"memory_and_compute": 1} == constraint_counts(shrunk, small)
    later = earliest(shrunk, make_ask(permille=400, mib=10))
    assert later is not None
    assert later.starts == 5
    assert (largest_free(shrunk, small), nearest_sizes(shrunk, HALF)) == (None, [])
    gone = Fleet.of(replace(card, permille=0, mib=0) for card in draft.fleet().cards)
    assert constraint_counts(gone, small) == Draft.of(gone).view(0, 9).counts(small) == {"larger_than_device": 1}
    assert [rank(gone, small, policy=policy, limit=1) for policy in POLICIES] == [[]] * len(POLICIES)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_sixteen_halves_on_eight_devices_by_any_policy_one_by_one_or_at_once(policy: str) -> None:
    one_by_one, at_once = Draft.of(make_fleet(8)), Draft.of(make_fleet(8))
    ranker = Ranker(one_by_one.view(HALF.starts, HALF.ends), POLICIES[policy])
    for number in range(16):
        found = ranker.best(HALF)
        assert found is not None
        one_by_one.take(found.row, found.columns, HALF, lease_id=UUID(int=100 + number))
    leases = [UUID(int=100 + number) for number in range(16)]
    place_gang(at_once, [HALF] * 16, together=Together.ANY, policy=POLICIES[policy], lease_ids=leases)
    for draft in (one_by_one, at_once):
        assert [len(card.taken) for card in draft.fleet().cards] == [2] * 8
        assert draft.view(HALF.starts, HALF.ends).counts(HALF) == {"memory_and_compute": 8}
    assert ranker.best(HALF) is None


def test_counting() -> None:
    """Two slices on a device are two; a lost or cordoned device is no capacity at once; 24 x 2,000 of 46,068 are 23."""
    draft = Draft.of(Fleet.of([make_card(1, mib=46_068), make_card(2, mib=46_068)]))
    ask: Ask = make_ask(permille=1, mib=2_000)
    for number in range(46):
        found = Ranker(draft.view(0, 9), POLICIES["binpack"]).best(ask)
        assert found is not None
        draft.take(found.row, found.columns, ask, lease_id=UUID(int=100 + number))
    assert [len(card.taken) for card in draft.fleet().cards] == [23, 23]
    assert draft.view(0, 9).counts(ask) == {"memory": 2}
    draft.remove(UUID(int=100))
    draft.remove(UUID(int=145))
    cards = draft.fleet().cards
    for change, name in (({"cordoned": True}, "cordoned"), ({"online": False}, "offline")):
        fewer = Fleet.of([replace(cards[0], **change), cards[1]])  # type: ignore[arg-type]
        assert Draft.of(fewer).view(0, 9).counts(ask) == {name: 1}
        assert [one.card.device_id.int for one in rank(fewer, ask, policy="spread", limit=9)] == [2]
