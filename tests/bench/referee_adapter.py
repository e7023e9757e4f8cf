"""The real engine behind the plug-in interface of an external judge of placement policies.

The judge owns the state and calls `reset(state, history, seed)` once, then `place(state, task)` for each arrival, which
answers `(node, gpus)`, `(node, gpus, moves)` or None: `python -m <judge> --policy tests.bench.referee_adapter:default`.
A draft is kept in step: answers are applied at once, everything else is found by the versions of the judge's nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np

from allocator.engine.fleet import Ask, Card, Fleet, Machine
from allocator.engine.make_room import Limit
from tests.bench import desk
from tests.bench.desk import Desk, Make

GPU_MIB = 1000


def fleet_of(nodes: Any) -> Fleet:
    """The judge's nodes in its order, empty; models by their number."""
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


class Plugin:
    def __init__(self, make: Make, *, learns: bool = True, limit: Limit | None = None) -> None:
        self._make, self._learns, self._limit = make, learns, limit

    def reset(self, state: Any, history: Sequence[Any], seed: int) -> None:  # noqa: ARG002 - of the judge's interface
        self._models = len(state.nodes.model_names)
        self._asks: dict[tuple[int, ...], Ask] = {}
        asks = (self._ask(task) for task in history)
        self._desk = Desk(fleet_of(state.nodes), asks, self._make, learns=self._learns, limit=self._limit)
        self._versions = state.ver.copy()
        self._on: list[set[int]] = [set() for _ in range(state.nodes.n)]

    def place(self, state: Any, task: Any) -> Any:
        self._catch_up(state)
        placed = self._desk.place(self._ask(task), task.tid)
        if placed is None:
            return None
        found, moves = placed
        for tid, row, _ in moves:
            self._left(state.tasks_on[tid][1], tid)
            self._came(row, tid)
        self._came(found.row, task.tid)
        return (found.row, found.columns, moves) if moves else (found.row, found.columns)

    def _ask(self, task: Any) -> Ask:
        key = (task.cpu, task.mem, task.num_gpu, task.gpu_milli, task.mask)
        ask = self._asks.get(key)
        if ask is None:
            ask = self._asks[key] = ask_of(task, self._models)
        return ask

    def _came(self, row: int, tid: int) -> None:
        """The judge will count the same change."""
        self._on[row].add(tid)
        self._versions[row] += 1

    def _left(self, row: int, tid: int) -> None:
        self._on[row].discard(tid)
        self._versions[row] += 1

    def _catch_up(self, state: Any) -> None:
        """What the judge did of its own: releases, answers that it did not carry out."""
        changed = np.flatnonzero(self._versions != state.ver).tolist()
        for row in changed:
            for tid in self._on[row] - state.by_node[row]:
                self._desk.release(tid)
                self._on[row].discard(tid)
        for row in changed:
            for tid in state.by_node[row] - self._on[row]:
                task, node, gpus = state.tasks_on[tid]
                self._desk.take(node, gpus, self._ask(task), tid)
                self._on[row].add(tid)
            self._versions[row] = state.ver[row]


def default() -> Plugin:
    """The default policy, for arrivals only."""
    return Plugin(desk.learned)


def default_room() -> Plugin:
    """The same with moves on refusal: `--mode churn --room 8`."""
    return Plugin(desk.learned, limit=Limit(moves=8))


def unlearned() -> Plugin:
    """The default policy with an empty history, which learns nothing."""
    return Plugin(desk.unlearned, learns=False)


def binpack() -> Plugin:
    return Plugin(desk.binpack, learns=False)


def binpack_room() -> Plugin:
    return Plugin(desk.binpack, learns=False, limit=Limit(moves=8))


def spread() -> Plugin:
    return Plugin(desk.spread, learns=False)
