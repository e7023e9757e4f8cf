"""What a tree of quotas leaves: nominal, borrowed and lent, at every instant of a period.

A node's quota S is its nominal; a cohort's is its own plus its children's. What a node does not use may be used by its
siblings, but for the part that it keeps: keep = max(0, S - lend_limit). So its effective use is

    E(node) = its own use + sum over children of max(E(child), keep(child))

and E(node) <= S(node) + borrow_limit(node) holds at each node on the way up; a root has nobody to borrow from. That is
"use <= nominal + borrow_limit, lent <= lend_limit, sum in the cohort <= sum of nominals" in one rule (the terms are
those of Kueue's hierarchical cohorts, KEP-79; the formula is ours).

Growth at a leaf is absorbed on the way up by what is kept there and unused, so what a node leaves is additive and can
be told as "limit and in use". What is held already stays: growth of nothing is never refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID


class Amount(NamedTuple):
    permille: int
    mib: int


class Limit(NamedTuple):
    """None is no limit."""

    permille: int | None
    mib: int | None


NOTHING = Limit(0, 0)
NO_LIMIT = Limit(None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """`is_cohort`: its quota is its nominal and its children's."""

    id: UUID
    parent: UUID | None
    nominal: Amount
    borrow: Limit = NOTHING
    lend: Limit = NO_LIMIT
    is_cohort: bool = False


class Held(NamedTuple):
    """Taken at `node` over [starts, ends); None is open."""

    node: UUID
    starts: int
    ends: int | None
    amount: Amount


class Left(NamedTuple):
    """Of one node over the whole period: limit - in_use is what the leaf may still take; a limit of None has no end."""

    node: UUID
    limit: Limit
    in_use: Amount


class Tree:
    """Raises ValueError for a parent that is not there, and for a ring."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes: dict[UUID, Node] = {node.id: node for node in nodes}
        self._children: dict[UUID, list[UUID]] = defaultdict(list)
        for node in self.nodes.values():
            if node.parent is not None:
                if node.parent not in self.nodes:
                    raise ValueError(f"{node.parent} is not in the tree")
                self._children[node.parent].append(node.id)
        for node_id in self.nodes:
            self.way_up(node_id)
        self._quota: dict[UUID, Amount] = {}
        self._keep = {node_id: self._kept(node) for node_id, node in self.nodes.items()}
        self._limit = {node_id: self._most(node) for node_id, node in self.nodes.items()}

    def way_up(self, leaf: UUID) -> list[UUID]:
        """The leaf, its parent, and so on to the root."""
        way: list[UUID] = []
        at: UUID | None = leaf
        while at is not None:
            if at in way:
                raise ValueError(f"{at} is above itself")
            way.append(at)
            at = self.nodes[at].parent
        return way

    def quota(self, node_id: UUID) -> Amount:
        """S of the docstring."""
        if node_id not in self._quota:
            node = self.nodes[node_id]
            below = [self.quota(child) for child in self._children[node_id]] if node.is_cohort else []
            self._quota[node_id] = Amount(*(sum(parts) for parts in zip(node.nominal, *below, strict=True)))
        return self._quota[node_id]

    def keep(self, node_id: UUID) -> Amount:
        """What others never get of it."""
        return self._keep[node_id]

    def limit(self, node_id: UUID) -> Limit:
        """What it may use at most, borrowed and all."""
        return self._limit[node_id]

    def _kept(self, node: Node) -> Amount:
        pairs = zip(self.quota(node.id), node.lend, strict=True)
        return Amount(*(0 if lend is None else max(0, quota - lend) for quota, lend in pairs))

    def _most(self, node: Node) -> Limit:
        borrow = NOTHING if node.parent is None else node.borrow
        pairs = zip(self.quota(node.id), borrow, strict=True)
        return Limit(*(None if more is None else quota + more for quota, more in pairs))

    def idle(self) -> dict[UUID, Amount]:
        """The effective use of each node when nothing is held."""
        found: dict[UUID, Amount] = {}

        def fill(node_id: UUID) -> Amount:
            parts = [self._counted(fill(child), child) for child in self._children[node_id]]
            found[node_id] = Amount(sum(part.permille for part in parts), sum(part.mib for part in parts))
            return found[node_id]

        for node in self.nodes.values():
            if node.parent is None:
                fill(node.id)
        return found

    def _counted(self, effective: Amount, node_id: UUID) -> Amount:
        keep = self.keep(node_id)
        return Amount(max(effective.permille, keep.permille), max(effective.mib, keep.mib))

    def grow(self, effective: dict[UUID, Amount], way: Sequence[UUID], more: Amount) -> None:
        """Add `more` (or take it back) at way[0] and on the way up, in place."""
        for node_id in way:
            before = effective[node_id]
            after = Amount(before.permille + more.permille, before.mib + more.mib)
            effective[node_id] = after
            old, new = self._counted(before, node_id), self._counted(after, node_id)
            more = Amount(new.permille - old.permille, new.mib - old.mib)


def left_of(tree: Tree, *, leaf: UUID, held: Iterable[Held], starts: int, ends: int | None) -> list[Left]:
    """For each node from the root to the leaf: what the leaf may still take, at the worst instant of [starts, ends)."""
    way = tree.way_up(leaf)
    ways = {node_id: tree.way_up(node_id) for node_id in tree.nodes}
    effective = tree.idle()
    worst = _rooms(tree, way, effective)
    for node_id, more in _edges(held, starts, ends):
        tree.grow(effective, ways[node_id], more)
        worst = [_least(one, two) for one, two in zip(worst, _rooms(tree, way, effective), strict=True)]
    found = []
    for node_id, room in zip(way, worst, strict=True):
        limit = tree.limit(node_id)
        in_use = Amount(*(0 if most is None else most - (free or 0) for most, free in zip(limit, room, strict=True)))
        found.append(Left(node_id, limit, in_use))
    return found[::-1]


def _edges(held: Iterable[Held], starts: int, ends: int | None) -> list[tuple[UUID, Amount]]:
    """Changes in time; at equal instants ends come first, so back to back fits."""
    edges: list[tuple[int, int, UUID, Amount]] = []
    for piece in held:
        if (ends is None or piece.starts < ends) and (piece.ends is None or piece.ends > starts):
            edges.append((max(piece.starts, starts), 1, piece.node, piece.amount))
            if piece.ends is not None and (ends is None or piece.ends < ends):
                edges.append((piece.ends, 0, piece.node, Amount(-piece.amount.permille, -piece.amount.mib)))
    edges.sort()
    return [(node_id, amount) for _, _, node_id, amount in edges]


def _rooms(tree: Tree, way: Sequence[UUID], effective: Mapping[UUID, Amount]) -> list[Limit]:
    """For each node on the way up, how much more the leaf may take at this instant; None is any."""
    found = []
    slack = [0, 0]
    for node_id in way:
        now, keep = effective[node_id], tree.keep(node_id)
        pairs = zip(tree.limit(node_id), now, slack, strict=True)
        found.append(Limit(*(None if most is None else more + max(0, most - used) for most, used, more in pairs)))
        slack = [more + max(0, kept - used) for more, kept, used in zip(slack, keep, now, strict=True)]
    return found


def _least(one: Limit, two: Limit) -> Limit:
    pairs = zip(one, two, strict=True)
    return Limit(*(a if b is None else b if a is None else min(a, b) for a, b in pairs))
