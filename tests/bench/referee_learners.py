"""Learners behind the judge's plug-in interface, each on top of the default policy; what they gain is in
docs/allocator.md. Beside those of `tests.bench.referee_adapter`:

    --policy tests.bench.referee_learners:rollout       the best of a few places by sampled futures
    --policy tests.bench.referee_learners:grouped       like requests kept on like nodes, by K-means groups
    --mode churn --defrag-every 500 --budget 16 --policy tests.bench.referee_learners:consolidated
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np

from allocator.engine.books import Ints
from allocator.engine.defrag import Planner, plan_consolidation
from allocator.engine.fleet import Ask
from allocator.engine.grouping import group_shapes
from allocator.engine.layout import Flags
from allocator.engine.make_room import Limit
from allocator.engine.mix import Mix, Seen, Shape, Supply, shape_of
from allocator.engine.policies.base import Policy
from allocator.engine.search import Found
from allocator.engine.view import View
from tests.bench import desk
from tests.bench.anneal import anneal
from tests.bench.referee_adapter import Plugin

# Roll-outs: places that are tried, sampled futures of each, asks of a future, and from which fill on.
PLACES, FUTURES, HORIZON, FROM_PERMILLE = 4, 2, 40, 850
GROUPS, GROUP_WEIGHT = 6, 100


class Consolidated(Plugin):
    """Empties nodes between the judge's arrivals."""

    def __init__(self, planner: Planner | None, limit: Limit | None) -> None:
        super().__init__(desk.learned, limit=limit)
        self._planner = planner

    def rebalance(self, state: Any, budget: int) -> list[tuple[int, int, tuple[int, ...]]]:
        self._catch_up(state)
        draft, movable = self._desk.draft, self._desk._movable
        rng = random.Random(1)  # noqa: S311 - a seed, no secret
        single = {lease_id: one for lease_id, one in movable.items() if one.ask.devices == 1}
        found = plan_consolidation(draft, movable=single, limit=Limit(moves=budget), rng=rng, planner=self._planner)
        moves: list[tuple[int, int, tuple[int, ...]]] = []
        for move in found.moves:
            number, ask = move.lease_id.int - 1, movable[move.lease_id].ask
            row, column = draft.layout.place_of[move.target[0]]
            self._left(self._desk.release(number), number)
            self._desk.take(row, (column,), ask, number)
            self._came(row, number)
            moves.append((number, row, (column,)))
        return moves


class RollOut(Plugin):
    """One step of search: the place after which sampled futures refuse least; at a tie the policy's own order."""

    def reset(self, state: Any, history: Sequence[Any], seed: int) -> None:
        super().reset(state, history, seed)
        self._history = [self._ask(task) for task in history]
        self._rng = random.Random(seed)  # noqa: S311 - a seed, no secret

    def place(self, state: Any, task: Any) -> Any:
        self._catch_up(state)
        ask = self._ask(task)
        if 1000 * state.used < FROM_PERMILLE * state.capacity or not ask.devices:
            return super().place(state, task)
        ranked = _one_a_row(self._desk.ranker.rank(ask, limit=PLACES * 8))[:PLACES]
        if len(ranked) < 2:
            return super().place(state, task)
        futures = [[self._rng.choice(self._history) for _ in range(HORIZON)] for _ in range(FUTURES)]
        best = min(range(len(ranked)), key=lambda at: (self._refused(ask, ranked[at], futures), at))
        self._desk.take(ranked[best].row, ranked[best].columns, ask, task.tid)
        self._came(ranked[best].row, task.tid)
        return ranked[best].row, ranked[best].columns

    def _refused(self, ask: Ask, found: Found, futures: Sequence[Sequence[Ask]]) -> int:
        """Permille of devices that the futures ask for in vain."""
        draft, refused = self._desk.draft, 0
        for future in futures:
            mark = draft.mark()
            draft.take(found.row, found.columns, ask, lease_id=UUID(int=0))
            for one in future:
                place = self._desk.ranker.best(one)
                if place is None:
                    refused += one.permille * one.devices
                else:
                    draft.take(place.row, place.columns, one, lease_id=UUID(int=0))
            draft.rollback(mark)
        return refused


def _one_a_row(ranked: Sequence[Found]) -> list[Found]:
    rows: dict[int, Found] = {}
    for found in ranked:
        rows.setdefault(found.row, found)
    return list(rows.values())


class Grouped:
    """The default policy and a term for what is on the node already: the same group as the ask's."""

    name = "grouped"

    def __init__(self, inner: Policy, groups: dict[Shape, int], on: list[Counter[int]]) -> None:
        self._inner, self._groups, self._on = inner, groups, on

    def terms(self, view: View, ask: Ask, rows: Ints, fits: Flags) -> dict[str, Ints]:
        terms = dict(self._inner.terms(view, ask, rows, fits))
        group = self._groups.get(replace_shape(ask), -1)
        alike = [self._on[row][group] * GROUP_WEIGHT // max(1, self._on[row].total()) for row in rows.tolist()]
        terms["group"] = np.array(alike, np.int64).reshape(-1, 1)
        return terms


def replace_shape(ask: Ask) -> Shape:
    return shape_of(replace(ask, models=None), 0)


class GroupedPlugin(Plugin):
    def __init__(self, limit: Limit | None = None) -> None:
        self._counts: list[Counter[int]] = []
        self._number_of: dict[int, int] = {}
        super().__init__(self._grouped, limit=limit)

    def reset(self, state: Any, history: Sequence[Any], seed: int) -> None:
        self._counts = [Counter() for _ in range(state.nodes.n)]
        self._known: dict[Shape, int] = {}
        super().reset(state, history, seed)

    def _grouped(self, mix: Mix, supply: Supply) -> Policy:
        if not self._known:
            seen = [Seen(shape._replace(models=None), weight) for shape, weight in mix.seen()]
            groups = group_shapes(seen, groups=GROUPS, seed=1)
            self._known = {shape: group.label for group in groups for shape in group.shapes}
        return Grouped(desk.learned(mix, supply), self._known, self._counts)

    def _came(self, row: int, tid: int) -> None:
        ask = self._desk._movable[UUID(int=tid + 1)].ask
        self._number_of[tid] = self._known.get(replace_shape(ask), -1)
        self._counts[row][self._number_of[tid]] += 1
        super()._came(row, tid)

    def _left(self, row: int, tid: int) -> None:
        self._counts[row][self._number_of[tid]] -= 1
        super()._left(row, tid)


def consolidated() -> Plugin:
    return Consolidated(None, None)


def consolidated_room() -> Plugin:
    return Consolidated(None, Limit(moves=8))


def annealed() -> Plugin:
    return Consolidated(anneal, None)


def rollout() -> Plugin:
    return RollOut(desk.learned)


def rollout_room() -> Plugin:
    return RollOut(desk.learned, limit=Limit(moves=8))


def grouped() -> Plugin:
    return GroupedPlugin()


def grouped_room() -> Plugin:
    return GroupedPlugin(Limit(moves=8))
