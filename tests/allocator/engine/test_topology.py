"""Which devices belong together: against every division by hand; documents with mistakes; what a policy makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocator.engine.draft import Draft
from allocator.engine.fleet import Fleet, Machine
from allocator.engine.gang import Together, place_gang
from allocator.engine.policies import POLICIES
from allocator.engine.score import rank
from allocator.engine.search import Ranker
from allocator.engine.topology import Links, TopologyError, best_group, links_of, pair_score, read_topology
from tests.allocator.engine.strategies import make_ask, make_card

WHOLE = make_ask(permille=1000, mib=100, whole=True)
SCORES = st.sampled_from([10, 20, 40, 50, 110, 210, 410])


def matrix(pairs: dict[tuple[int, int], int], size: int, other: int = 10) -> Links:
    def score(one: int, two: int) -> int:
        return 0 if one == two else pairs.get((min(one, two), max(one, two)), other)

    return Links(tuple(tuple(score(one, two) for two in range(size)) for one in range(size)))


@st.composite
def wirings(draw: st.DrawFn) -> Links:
    size = draw(st.integers(1, 7))
    return matrix({pair: draw(SCORES) for pair in combinations(range(size), 2)}, size)


def divisions(free: tuple[int, ...], size: int) -> Iterator[list[tuple[int, ...]]]:
    """Every set of as many groups as there can be."""
    if len(free) < size:
        yield []
        return
    for group in combinations(free, size):
        left = tuple(one for one in free if one not in group and one > group[0])
        skipped = sum(one not in group and one < group[0] for one in free)
        if skipped <= len(free) % size and len(left) // size == len(free) // size - 1:
            yield from ([group, *rest] for rest in divisions(left, size))


@given(wirings(), st.integers(2, 4), st.data())
def test_the_best_group_is_of_a_division_that_none_beats(links: Links, size: int, data: st.DataObject) -> None:
    free = tuple(sorted(data.draw(st.sets(st.integers(0, len(links.scores) - 1)))))
    found = best_group(links, free, size)
    every = list(divisions(free, size)) if len(free) >= size else []
    assert (found is None) == (len(free) < size)
    if found is not None:
        best = max(sum(map(links.inner, groups)) for groups in every)
        assert found.total == best
        bests = [groups for groups in every if sum(map(links.inner, groups)) == best]
        assert any(found.columns in groups and max(map(links.inner, groups)) == found.inner for groups in bests)


@given(wirings())
def test_one_device_is_the_worst_linked(links: Links) -> None:
    free = tuple(range(len(links.scores)))
    found = best_group(links, free, 1)
    assert found is not None
    assert links.to_others(found.columns[0], free) == min(links.to_others(one, free) for one in free)


def test_a_pair_is_taken_so_that_the_other_pairs_stay() -> None:
    links = matrix({(0, 1): 210, (2, 3): 210, (1, 2): 110}, 4)
    assert best_group(links, (0, 1, 2, 3), 2) == ((0, 1), 210, 420)
    assert best_group(links, (0, 1, 2, 3), 1) == ((0,), 0, 330)


@pytest.mark.parametrize(
    ("nvlinks", "pcie", "score"),
    [
        (None, None, 10),
        (0, "system", 10),
        (0, "numa_node", 20),
        (0, "board", 60),
        (4, "switch", 450),
        (40, "switch", 1850),
    ],
)
def test_the_score_of_a_pair(nvlinks: int | None, pcie: str | None, score: int) -> None:
    assert pair_score(nvlinks, pcie) == score


def wired(number: int, links: Links, *, in_use: Sequence[int] = ()) -> tuple[Machine, Draft]:
    """A node of as many cards, 100 x node + column."""
    ids = [UUID(int=100 * number + column) for column in range(len(links.scores))]
    told = {(ids[one], ids[two]): links.scores[one][two] for one, two in combinations(range(len(ids)), 2)}
    machine = Machine(node_id=UUID(int=number), links=links_of(told))
    draft = Draft.of(Fleet.of([replace(make_card(one.int), node_id=machine.node_id) for one in ids], [machine]))
    for column in in_use:
        draft.take(0, (column,), WHOLE, lease_id=UUID(int=9000 + column))
    return machine, draft


def test_the_policy_takes_the_best_set_of_what_is_free() -> None:
    quads = matrix({pair: 450 for four in ((0, 1, 2, 3), (4, 5, 6, 7)) for pair in combinations(four, 2)}, 8, 20)
    _, draft = wired(1, quads, in_use=[0])
    ranker = Ranker(draft.view(0, 10), POLICIES["topology"])
    four = ranker.best(replace(WHOLE, devices=4))
    assert four is not None
    assert four.columns == (4, 5, 6, 7)
    one = ranker.best(WHOLE)
    assert one is not None
    assert one.columns == (1,)  # of the quad that is broken
    members = place_gang(
        draft, [WHOLE] * 4, together=Together.NODE, policy=POLICIES["topology"],
        lease_ids=[UUID(int=number) for number in range(4)],
    )  # fmt: skip
    assert [member.column for member in members] == [4, 5, 6, 7]


def test_the_better_wired_node_is_taken_and_the_terms_say_so() -> None:
    good, bad = wired(1, matrix({}, 2, 20))[1].fleet(), wired(2, matrix({}, 2, 450))[1].fleet()
    fleet = Fleet.of(
        [*good.cards, *bad.cards, replace(make_card(301), node_id=UUID(int=3))], [*good.machines, *bad.machines]
    )
    found = rank(fleet, replace(WHOLE, devices=2), policy="topology", limit=3)
    assert [(one.card.node_id.int, one.terms["links"]) for one in found] == [(2, 4500), (1, 200)]
    shared = make_ask(permille=100, mib=10)
    assert [one.terms["links"] for one in rank(fleet, shared, policy="topology", limit=1)] == [0]


def document(**node: object) -> dict[str, object]:
    return {"nodes": {"one": node}}


def link(*between: str, **over: object) -> dict[str, object]:
    return {"between": list(between), "nvlinks": 2, "pcie": "switch", **over}


DEVICES = {"one": ["a", "b", "c"]}
WHOLE_NODE = [link("a", "b"), link("b", "c"), link("c", "a", nvlinks=0)]


def test_a_document_that_is_right() -> None:
    assert read_topology(document(links=WHOLE_NODE), devices=DEVICES) == {
        "one": {("a", "b"): 250, ("a", "c"): 50, ("b", "c"): 250}
    }
    switched = read_topology(document(switch={"a": 18, "b": 18, "c": 6}), devices=DEVICES)
    assert switched == {"one": {("a", "b"): 1810, ("a", "c"): 610, ("b", "c"): 610}}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ([], 'the document is not {"nodes": {...}}'),
        ({"nodes": {"two": {}}}, "node 'two': not in this fleet"),
        (document(links=WHOLE_NODE[:2]), "node 'one': nothing is told of 'a' and 'c'"),
        (document(links=[*WHOLE_NODE, link("a", "x")]), "node 'one', link 4: no device 'x' on this node"),
        (document(links=[*WHOLE_NODE, link("a", "a")]), "node 'one', link 4: 'a' is linked to itself"),
        (document(links=[*WHOLE_NODE, link("b", "a", nvlinks=3)]), "'a' and 'b' were told of before, and otherwise"),
        (document(links=[*WHOLE_NODE, link("a", "b", nvlinks=-1)]), "nvlinks -1 is not a number from 0 to 18"),
        (document(links=[*WHOLE_NODE, link("a", "b", pcie="near")]), "pcie 'near' is none of system, numa_node"),
        (document(links=[*WHOLE_NODE, link("a", "b", pcie=["switch"])]), "pcie ['switch'] is none of system"),
        (document(links=[*WHOLE_NODE, "a-b"]), "link 4: not {'between': [one, other], ...}"),
        (document(links=WHOLE_NODE, switch={"x": 1}), "switch: no device 'x' on this node"),
        (document(links=WHOLE_NODE, switch={"a": "all"}), "switch: 'all' links of 'a'"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_entry(wrong: object, said: str) -> None:
    with pytest.raises(TopologyError) as refused:
        read_topology(wrong, devices=DEVICES)
    assert len(refused.value.problems) == 1
    assert said in refused.value.problems[0]


def test_two_sides_that_differ_count_as_the_lower() -> None:
    one, two = UUID(int=1), UUID(int=2)
    assert links_of({(one, two): 210, (two, one): 110}) == ((one, two, 110),)


def test_a_node_of_unknown_links_is_filled_from_the_fullest() -> None:
    ask = make_ask(permille=100, mib=10)
    draft = Draft.of(Fleet.of([replace(make_card(number), node_id=UUID(int=1)) for number in range(3)]))
    draft.take(0, (1,), ask, lease_id=UUID(int=1))
    found = Ranker(draft.view(0, 10), POLICIES["topology"]).best(replace(ask, devices=2))
    assert found is not None
    assert found.columns == (0, 1)
