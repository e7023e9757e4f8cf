"""The real engine behind the plug-in interface of an external judge of placement policies.

The judge owns the state and calls `reset(state, history, seed)` once, then `place(state, task)` for each arrival, which
answers `(node, gpus)`, `(node, gpus, moves)` or None. Factories: `default`, `default_room`, `binpack`, `spread`, ...
(`python -m <judge> --policy tests.bench.referee_adapter:default`). A Draft is kept in step: answers are applied at
once, everything else is found by the versions of the judge's nodes. Nothing here needs the database.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import numpy as np

from allocator.engine.draft import Draft
from allocator.engine.fleet import FOREVER, Ask, Card, Fleet, Machine
from allocator.engine.learn import learn
from allocator.engine.make_room import Limit, MoveCost, RoomPlan, make_room
from allocator.engine.mix import Mix, Seen, Supply, shape_of
from allocator.engine.policies.base import Policy
from allocator.engine.policies.binpack import Binpack, Spread
from allocator.engine.policies.fragmentation import Fragmentation
from allocator.engine.search import Ranker

GPU_MIB = 1000
OWNER = UUID(int=1)
HALF_LIFE = 4_000
RELEARN_EVERY = 1_000


def fleet_of(state: Any) -> Fleet:
    """The judge's nodes in its order, empty; models by their number."""
    nodes = state.nodes
    machines = [
        Machine(node_id=UUID(int=row + 1), cores_milli=int(nodes.cpu[row]), mib=int(nodes.mem[row]))
        for row in range(nodes.n)
    ]
    cards = [
        Card(
            device_id=UUID(int=(row + 1) * 1000 + column), node_id=UUID(int=row + 1), kind="gpu", isolation_rank=0,
            permille=1000, mib=GPU_MIB, model=str(nodes.model[row]),
        )
        for row in range(nodes.n)
        for column in range(int(nodes.ngpu[row]))
    ]  # fmt: skip
    return Fleet.of(cards, machines)


def ask_of(task: Any, models: int) -> Ask:
    every = (1 << models) - 1
    allowed = None
    if task.num_gpu and task.mask & every != every:
        allowed = frozenset(str(model) for model in range(models) if task.mask >> model & 1)
    return Ask(
        permille=task.gpu_milli if task.num_gpu else 0, mib=0, starts=0, devices=task.num_gpu, cores_milli=task.cpu,
        host_mib=task.mem, models=allowed,
    )  # fmt: skip


class Engine:
    """One policy over a Draft. `make` turns what was learned into the policy; `limit` allows moves on refusal."""

    def __init__(self, make: Callable[[Mix, Supply], Policy], *, learns: bool, limit: Limit | None = None) -> None:
        self._make, self._learns, self._limit = make, learns, limit

    def reset(self, state: Any, history: Sequence[Any], seed: int) -> None:  # noqa: ARG002 - of the judge's interface
        self._draft = Draft.of(fleet_of(state))
        self._view = self._draft.view(0, FOREVER)
        self._supply = Supply.of(self._draft.layout)
        self._models = len(state.nodes.model_names)
        self._asks: dict[tuple[int, ...], Ask] = {}
        self._mix = Mix(HALF_LIFE)
        self._mix.extend(Seen(shape_of(self._ask(task), GPU_MIB), 1.0) for task in history)
        self._seen_versions = state.ver.copy()
        self._on: list[set[int]] = [set() for _ in range(state.nodes.n)]
        self._row_of: dict[int, int] = {}
        self._movable: dict[UUID, MoveCost] = {}
        self._arrivals = 0
        self._learn()

    def place(self, state: Any, task: Any) -> Any:
        self._catch_up(state)
        ask = self._ask(task)
        self._arrivals += 1
        if self._learns:
            self._mix.add(shape_of(ask, GPU_MIB))
            if self._arrivals % RELEARN_EVERY == 0:
                self._learn()
        found = self._ranker.best(ask)
        if found is not None:
            self._take(found.row, found.columns, ask, task.tid)
            self._ranker.keep_warm()
            return found.row, found.columns
        self._ranker.keep_warm()
        return self._with_room(ask, task.tid) if self._limit and task.num_gpu else None

    def _with_room(self, ask: Ask, tid: int) -> Any:
        plan = make_room(
            self._draft, ask, policy=self._ranker.policy, limit=self._limit or Limit(), movable=self._movable,
            ranker=self._ranker,
        )  # fmt: skip
        if plan is None:
            return None
        moves = self._apply_moves(plan)
        self._take(plan.place.row, plan.place.columns, ask, tid)
        return plan.place.row, plan.place.columns, moves

    def _apply_moves(self, plan: RoomPlan) -> list[tuple[int, int, tuple[int, ...]]]:
        moves = []
        for move in plan.moves:
            tid = move.lease_id.int - 1
            places = [self._draft.layout.place_of[device_id] for device_id in move.target]
            row, columns = places[0][0], tuple(column for _, column in places)
            moves.append((tid, row, columns))
            self._drop(tid)
            self._take(row, columns, self._movable[move.lease_id].ask, tid)
        return moves

    def _learn(self) -> None:
        policy = self._make(self._mix, self._supply)
        self._ranker = Ranker(self._view, policy)
        self._ranker.warm(self._asks.values())

    def _ask(self, task: Any) -> Ask:
        key = (task.cpu, task.mem, task.num_gpu, task.gpu_milli, task.mask)
        ask = self._asks.get(key)
        if ask is None:
            ask = self._asks[key] = ask_of(task, self._models)
        return ask

    def _take(self, row: int, columns: Sequence[int], ask: Ask, tid: int) -> None:
        """Applied before the judge does it: the version that it will then show is known."""
        lease_id = UUID(int=tid + 1)
        self._draft.take(row, columns, ask, lease_id=lease_id)
        self._movable[lease_id] = MoveCost(ask=ask, owner=OWNER, state_mib=ask.host_mib)
        self._row_of[tid] = row
        self._on[row].add(tid)
        self._seen_versions[row] += 1

    def _drop(self, tid: int) -> None:
        lease_id = UUID(int=tid + 1)
        row = self._row_of.pop(tid)
        self._draft.remove(lease_id)
        self._movable.pop(lease_id, None)
        self._on[row].discard(tid)
        self._seen_versions[row] += 1

    def _catch_up(self, state: Any) -> None:
        """What the judge did otherwise: releases, answers that it did not carry out."""
        for row in np.flatnonzero(self._seen_versions != state.ver).tolist():
            for tid in self._on[row] - state.by_node[row]:
                self._drop(tid)
            for tid in state.by_node[row] - self._on[row]:
                task, node, gpus = state.tasks_on[tid]
                self._take(node, gpus, self._ask(task), tid)
            self._seen_versions[row] = state.ver[row]


def _learned(mix: Mix, supply: Supply) -> Policy:
    return Fragmentation(learn(mix.seen(), supply))


def default() -> Engine:
    """The default policy, for arrivals only."""
    return Engine(_learned, learns=True)


def default_room() -> Engine:
    """The same with moves on refusal: `--mode churn --room 8`."""
    return Engine(_learned, learns=True, limit=Limit(moves=8))


def unlearned() -> Engine:
    """The default policy with an empty history."""
    return Engine(lambda _, supply: Fragmentation(learn([], supply)), learns=False)


def binpack() -> Engine:
    return Engine(lambda *_: Binpack(), learns=False)


def spread() -> Engine:
    return Engine(lambda *_: Spread(), learns=False)


def binpack_room() -> Engine:
    return Engine(lambda *_: Binpack(), learns=False, limit=Limit(moves=8))
