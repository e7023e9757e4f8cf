"""The tree of quotas: what it leaves is what a recount of every instant leaves, and what it grants breaks no rule."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marketplace.matching.quota_tree import NO_LIMIT, NOTHING, Amount, Held, Left, Limit, Node, Tree, left_of

ROOT, COHORT, ADA, BO, CY = (UUID(int=n) for n in range(1, 6))
LAST = 12


def node(name: UUID, parent: UUID | None, nominal: int, **over: Any) -> Node:
    return Node(id=name, parent=parent, nominal=Amount(nominal, 10 * nominal), **over)


def house(**ada: Any) -> Tree:
    """A root with Cy's tenant and a cohort of Ada and Bo, 1000 each."""
    return Tree(
        [
            node(ROOT, None, 0, is_cohort=True), node(COHORT, ROOT, 0, is_cohort=True, borrow=NO_LIMIT),
            node(ADA, COHORT, 1000, **ada), node(BO, COHORT, 1000, borrow=NO_LIMIT),
            node(CY, ROOT, 1000, borrow=NO_LIMIT),
        ]
    )  # fmt: skip


def room(tree: Tree, leaf: UUID, *held: Held) -> int:
    """The compute that the leaf may still take over [0, 10)."""
    found = left_of(tree, leaf=leaf, held=held, starts=0, ends=10)
    return min(one.limit.permille - one.in_use.permille for one in found if one.limit.permille is not None)


def held(name: UUID, permille: int, starts: int = 0, ends: int | None = 10) -> Held:
    return Held(name, starts, ends, Amount(permille, permille))


def test_without_borrowing_the_nominal_is_the_end() -> None:
    assert room(house(), ADA) == 1000
    assert room(house(), ADA, held(ADA, 300, 0, 5), held(ADA, 300, 5, 10)) == 700


def test_idle_quota_is_borrowed_over_the_whole_tree_and_no_further() -> None:
    assert room(house(), BO) == 3000
    assert room(house(), BO, held(ADA, 400), held(CY, 1000)) == 1600
    assert room(house(borrow=Limit(500, None)), ADA) == 1500


def test_what_is_not_lent_is_kept_even_when_idle() -> None:
    tree = house(lend=Limit(200, None))
    assert room(tree, BO) == 2200
    assert room(tree, ADA, held(BO, 2200)) == 800
    assert room(tree, BO, held(ADA, 900)) == 2100


def test_the_borrower_leaves_nothing_to_the_lender_until_it_is_taken_back() -> None:
    assert room(house(), ADA, held(BO, 3000)) == 0


def test_a_ring_and_a_missing_parent_are_refused() -> None:
    with pytest.raises(ValueError, match="above itself"):
        Tree([node(ROOT, COHORT, 1), node(COHORT, ROOT, 1)])
    with pytest.raises(ValueError, match="not in the tree"):
        Tree([node(ADA, ROOT, 1)])


limits = st.one_of(st.none(), st.integers(0, 12))
both = st.builds(Limit, limits, limits)
amounts = st.builds(Amount, st.integers(0, 9), st.integers(0, 9))


@st.composite
def trees(draw: Any) -> Tree:
    """Up to three levels; tenants have projects below them."""
    parents = {ROOT: None, COHORT: ROOT, ADA: COHORT, BO: ROOT, CY: ADA}
    cohorts = {ROOT, COHORT}
    return Tree(
        Node(
            id=name, parent=parent, nominal=draw(amounts), borrow=draw(both), lend=draw(both), is_cohort=name in cohorts
        )
        for name, parent in parents.items()
    )


pieces = st.lists(
    st.builds(Held, st.sampled_from([ADA, BO, CY]), st.integers(0, LAST - 1), st.integers(1, LAST), amounts).filter(
        lambda piece: piece.ends is not None and piece.starts < piece.ends
    ),
    max_size=8,
)


def used(tree: Tree, name: UUID, at: int, all_held: list[Held], which: int) -> int:
    """The recount: effective use of a node at an instant, from the definition alone."""
    own = sum(h.amount[which] for h in all_held if h.node == name and h.starts <= at < (h.ends or LAST))
    below = [one.id for one in tree.nodes.values() if one.parent == name]
    return own + sum(max(used(tree, child, at, all_held, which), tree.keep(child)[which]) for child in below)


def breaks(tree: Tree, leaf: UUID, all_held: list[Held], more: Held, which: int) -> bool:
    for at in range(more.starts, more.ends or LAST):
        for name in tree.way_up(leaf):
            most = tree.limit(name)[which]
            before, after = (used(tree, name, at, found, which) for found in (all_held, [*all_held, more]))
            if most is not None and after > max(most, before):
                return True
    return False


def refused(found: list[Left], asked: int, which: int) -> bool:
    pairs = ((one.limit[which], one.in_use[which]) for one in found)
    return any(most is not None and in_use + asked > most for most, in_use in pairs)


@settings(max_examples=60)
@given(trees(), pieces, st.sampled_from([ADA, BO, CY]), st.integers(0, LAST - 1), st.integers(1, 9))
def test_it_refuses_exactly_what_a_recount_refuses(
    tree: Tree, all_held: list[Held], leaf: UUID, starts: int, asked: int
) -> None:
    more = Held(leaf, starts, LAST, Amount(asked, asked))
    found = left_of(tree, leaf=leaf, held=all_held, starts=starts, ends=LAST)
    for which in (0, 1):
        assert refused(found, asked, which) == breaks(tree, leaf, all_held, more, which)


@settings(max_examples=40)
@given(trees(), pieces)
def test_what_was_granted_keeps_every_rule(tree: Tree, wanted: list[Held]) -> None:
    granted: list[Held] = []
    for one in wanted:
        found = left_of(tree, leaf=one.node, held=granted, starts=one.starts, ends=one.ends)
        if not any(refused(found, one.amount[which], which) for which in (0, 1)):
            granted.append(one)
    for which in (0, 1):
        for at in range(LAST):
            for name, place in tree.nodes.items():
                idle = used(tree, name, at, [], which)
                most = NOTHING[which] if place.parent is None else place.borrow[which]
                use = used(tree, name, at, granted, which)
                assert most is None or use <= max(idle, tree.quota(name)[which] + most)
