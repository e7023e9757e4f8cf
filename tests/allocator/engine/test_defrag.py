"""Consolidation: every prefix legal, never worse, within the limit, close to what looking at every way finds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from allocator.engine.defrag import DefragPlan, plan_consolidation, standing
from allocator.engine.draft import Draft
from allocator.engine.fleet import FOREVER, Ask, Card, Fleet, Machine, Taken
from allocator.engine.make_room import Limit, MoveCost
from allocator.engine.view import View

Movable = dict[UUID, MoveCost]


def node_fleet(*sizes: int) -> Fleet:
    """Nodes with so many devices each."""
    cards = [
        Card(
            device_id=UUID(int=100 * node + device), node_id=UUID(int=node), kind="gpu", isolation_rank=0,
            permille=1000, mib=100,
        )
        for node, size in enumerate(sizes, 1)
        for device in range(size)
    ]  # fmt: skip
    return Fleet.of(cards, [Machine(node_id=UUID(int=node), cores_milli=8000) for node in range(1, len(sizes) + 1)])


def tenancy(draft: Draft, *leases: tuple[int, int, int], ends: int = FOREVER) -> Movable:
    """(device, permille, owner) each, those that fit; lease ids from 1 on."""
    movable = {}
    for number, (device, permille, owner) in enumerate(leases, 1):
        ask = Ask(permille=permille, mib=permille // 10, starts=0, ends=ends, cores_milli=permille)
        row, column = draft.layout.place_of[UUID(int=device)]
        takes, fits = draft.view(0, FOREVER).rows_that_fit(ask, slice(row, row + 1))
        if takes[0] and fits[0, column]:
            draft.take(row, (column,), ask, lease_id=UUID(int=number))
            movable[UUID(int=number)] = MoveCost(ask=ask, owner=UUID(int=owner), state_mib=permille)
    return movable


def plan(draft: Draft, movable: Movable, limit: Limit) -> DefragPlan:
    return plan_consolidation(draft, movable=movable, limit=limit, rng=random.Random(1))  # noqa: S311 - a seed, no secret


def follow(draft: Draft, movable: Movable, found: DefragPlan) -> Iterator[View]:
    """The fleet after each move. `place` refuses what does not fit while the old place is still taken."""
    for move in found.moves:
        old = draft.pieces_of(move.lease_id)
        assert [place for place, piece in old if isinstance(piece, Taken)] == list(move.source)
        draft.place(move.target[0], movable[move.lease_id].ask, lease_id=move.lease_id)
        draft.leave(move.lease_id, old)
        yield draft.view(0, FOREVER)


SIZES = st.lists(st.integers(1, 3), min_size=2, max_size=4)
LEASES = st.lists(
    st.tuples(
        st.builds(lambda node, device: 100 * node + device, st.integers(1, 4), st.integers(0, 2)),
        st.sampled_from([100, 250, 300, 500, 700, 1000]),
        st.integers(1, 3),
    ),
    max_size=8,
)


@given(SIZES, LEASES, st.integers(0, 6), st.sampled_from([None, 1, 2]), st.sampled_from([None, 600, 1500]))
def test_every_prefix_is_legal_and_no_worse(
    sizes: list[int], leases: list[tuple[int, int, int]], moves: int, per_owner: int | None, state_mib: int | None
) -> None:
    fleet = node_fleet(*sizes)
    known = {card.device_id.int for card in fleet.cards}
    draft = Draft.of(fleet)
    movable = tenancy(draft, *(lease for lease in leases if lease[0] in known))
    before = draft.fleet()
    found = plan(draft, movable, Limit(moves=moves, per_owner=per_owner, state_mib=state_mib))
    assert draft.fleet() == before
    assert plan(draft, movable, Limit(moves=moves, per_owner=per_owner, state_mib=state_mib)) == found
    costs = [standing(view).cost for view in follow(draft, movable, found)]
    assert all(cost <= found.before.cost for cost in costs)
    assert found.after == standing(draft.view(0, FOREVER))
    assert not costs or found.after.cost < found.before.cost
    spent = [movable[move.lease_id] for move in found.moves]
    assert len(spent) <= moves
    assert state_mib is None or sum(one.state_mib for one in spent) <= state_mib
    owners = [one.owner for one in spent]
    assert per_owner is None or all(owners.count(owner) <= per_owner for owner in owners)


def fewest_nodes(draft: Draft, movable: Movable, moves: int, most: int) -> int:
    """By looking at every way to make so many moves, each to a free place, without ever costing more than `most`."""
    now = standing(draft.view(0, FOREVER))
    best = now.nodes_in_use
    if now.cost > most:
        return draft.layout.rows
    if not moves:
        return best
    for lease_id, one in sorted(movable.items()):
        for card in draft.fleet().cards:
            old, mark = draft.pieces_of(lease_id), draft.mark()
            row, column = draft.layout.place_of[card.device_id]
            takes, fits = draft.view(0, FOREVER).rows_that_fit(one.ask, slice(row, row + 1))
            if takes[0] and fits[0, column] and card.device_id not in [place for place, _ in old]:
                draft.take(row, (column,), one.ask, lease_id=lease_id)
                draft.leave(lease_id, old)
                best = min(best, fewest_nodes(draft, movable, moves - 1, most))
                draft.rollback(mark)
    return best


def test_close_to_looking_at_every_way() -> None:
    rng, gaps = random.Random(7), []  # noqa: S311 - a seed, no secret
    for _ in range(15):
        draft = Draft.of(node_fleet(2, 1, 2))
        places = [100, 101, 200, 300, 301]
        asked = [(rng.choice(places), rng.choice([100, 300, 500, 700]), 1) for _ in range(4)]
        movable = tenancy(draft, *asked)
        found = plan(draft, movable, Limit(moves=2))
        gaps.append(found.after.nodes_in_use - fewest_nodes(draft, movable, 2, found.before.cost))
    assert min(gaps) == 0
    assert sum(gaps) <= 3  # a node too many in one case of five


def test_what_may_not_move_keeps_its_node_in_use() -> None:
    draft = Draft.of(node_fleet(1, 1, 1))
    movable = tenancy(draft, (100, 300, 1), (200, 300, 1), (300, 300, 1))
    assert plan(draft, movable, Limit(moves=8)).after.nodes_in_use == 1
    one = UUID(int=1)
    assert plan(draft, {one: movable[one]}, Limit(moves=8)).after.nodes_in_use == 2
    assert plan(draft, {}, Limit(moves=8)).moves == ()


def test_a_lease_of_the_future_keeps_its_place_free() -> None:
    draft = Draft.of(node_fleet(1, 1))
    movable = tenancy(draft, (100, 300, 1))
    later = Ask(permille=800, mib=10, starts=50, ends=60)
    draft.place(UUID(int=200), later, lease_id=UUID(int=9))
    assert plan(draft, movable, Limit(moves=8)).moves == ()


def test_a_lease_goes_only_where_its_demands_are_met() -> None:
    fleet = node_fleet(1, 1)
    cards = [fleet.cards[0], replace(fleet.cards[1], model="other")]
    draft = Draft.of(Fleet.of(cards, fleet.machines))
    movable = tenancy(draft, (100, 300, 1), (200, 500, 1))
    picky = {one: replace(cost, ask=replace(cost.ask, models=frozenset({""}))) for one, cost in movable.items()}
    found = plan(draft, picky, Limit(moves=8))
    assert [(move.lease_id.int, move.target[0].int) for move in found.moves] == [(2, 100)]
