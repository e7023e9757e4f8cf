"""Consolidation: few moves of running leases that leave whole devices and whole nodes free.

The *cost* of a fleet is a concave function of how full each device and each node is, plus a fixed part for each that is
in use at all: it falls when work goes from the emptier to the fuller, and most when something is left empty. A plan
never ends above the cost that it found, nor does any prefix of it: a plan may be stopped after any move. Each move has
its new place free while the old one is still taken.

Planners share one problem and one interface (`Planner`); the default is the greedy one of this module. What the others
gain is in docs/allocator.md. Only leases with exactly one device are moved; who moves gang members keeps them together
by not calling them movable.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

import numpy as np

from allocator.engine.books import Ints
from allocator.engine.draft import Draft
from allocator.engine.fleet import FOREVER, Ask, Taken
from allocator.engine.layout import Flags
from allocator.engine.make_room import Limit, Move, MoveCost
from allocator.engine.search import Found, Ranker
from allocator.engine.view import View

FULL = 1000
# A place (row, column) with this column is all of the node.
ALL = -1

Place = tuple[int, int]


class Standing(NamedTuple):
    """Of a fleet; less is better, from left to right as far as planners go."""

    cost: int
    nodes_in_use: int
    devices_in_use: int


@dataclass(frozen=True, slots=True)
class DefragPlan:
    """Moves in order; `before` and `after` all of them."""

    moves: tuple[Move, ...]
    before: Standing
    after: Standing


def _device_cost(used: Ints, in_use: Flags) -> Ints:
    """`used` in thousandths of the device. 1000 for any use, and up to 1000 more, concave."""
    cost: Ints = FULL * in_use + used * (2 * FULL - used) // FULL
    return cost


def _node_cost(used: Ints, devices: Ints, in_use: Flags) -> Ints:
    """`used` in thousandths of a device over `devices` of them; the same form, in proportion to the node's size."""
    full = FULL * np.maximum(devices, 1)
    cost: Ints = full * in_use + used * (2 * full - used) // full
    return cost


class Load:
    """How full the rows of a view are, each as it is now."""

    def __init__(self, view: View, rows: Ints | slice) -> None:
        layout = view.layout
        self.exists = layout.exists[rows]
        capacity = np.maximum(layout.permille[rows], 1)
        self.used = np.where(self.exists, (capacity - view.permille[rows]) * FULL // capacity, 0)
        self.busy = self.exists & (view.pieces[rows] > 0)
        self.devices = layout.devices[rows]
        self.host = (view.cores[rows] < layout.cores[rows]) | (view.host_mib[rows] < layout.host_mib[rows])

    def costs(self) -> Ints:
        """(rows,)."""
        in_use = self.busy.any(axis=1) | self.host
        devices: Ints = _device_cost(self.used, self.busy).sum(axis=1)
        return devices + _node_cost(self.used.sum(axis=1), self.devices, in_use)


class Consolidation:
    """As a policy: by how much the cost falls when the ask is placed there (it is negative: placing costs)."""

    name = "consolidation"

    def terms(self, view: View, ask: Ask, rows: Ints, fits: Flags) -> dict[str, Ints]:  # noqa: ARG002 - of every place
        load = Load(view, rows)
        capacity = np.maximum(view.layout.permille[rows], 1)
        more = np.full_like(capacity, FULL) if ask.whole else ask.permille * FULL // capacity
        devices = _device_cost(load.used + more, np.ones_like(load.busy)) - _device_cost(load.used, load.busy)
        total, in_use = load.used.sum(axis=1), load.busy.any(axis=1) | load.host
        after = _node_cost(total[:, None] + more, load.devices[:, None], np.ones_like(load.busy))
        nodes = after - _node_cost(total, load.devices, in_use)[:, None]
        return {"devices": -devices, "nodes": -nodes}


def total(terms: Mapping[str, Ints]) -> Ints:
    """The score: all terms together."""
    found: Ints = np.sum(list(terms.values()), axis=0)
    return found


def standing(view: View) -> Standing:
    load = Load(view, slice(None))
    in_use = load.busy.any(axis=1) | load.host
    return Standing(int(load.costs().sum()), int(in_use.sum()), int(load.busy.sum()))


@dataclass(slots=True)
class Problem:
    """A draft that planners change, and which leases may go: `origin`, by lease id, where they were found.

    The view is of all time from now on, so a place that is free in it is free for every lease, whatever its end.
    """

    draft: Draft
    view: View
    limit: Limit
    movable: Mapping[UUID, MoveCost]
    ranker: Ranker = field(init=False)
    origin: dict[UUID, Place] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ranker = Ranker(self.view, Consolidation())
        for lease_id in sorted(self.movable):
            place = self.place_of(lease_id)
            if place is not None and self.movable[lease_id].ask.devices == 1:
                self.origin[lease_id] = place

    def place_of(self, lease_id: UUID) -> Place | None:
        """Its (row, column), if it takes one device only."""
        devices = [place_id for place_id, piece in self.draft.pieces_of(lease_id) if isinstance(piece, Taken)]
        return self.draft.layout.place_of[devices[0]] if len(devices) == 1 else None

    def cost(self) -> int:
        return int(Load(self.view, slice(None)).costs().sum())

    def cost_of(self, rows: Iterable[int]) -> int:
        return int(Load(self.view, np.array(sorted(set(rows)), np.int64)).costs().sum())

    def takes(self, ask: Ask, row: int, column: int) -> bool:
        """Whether there is room now, with everything still where it is."""
        only = np.array([row])
        return bool(self.view.fits(ask, only)[0, column] and self.view.host_fits(ask, only)[0])

    def move(self, lease_id: UUID, row: int, column: int) -> int:
        """Place, then release; returns by how much the cost grew. The caller knows that the place is free."""
        old = self.draft.pieces_of(lease_id)
        here = self.place_of(lease_id)
        rows = {row} if here is None else {row, here[0]}
        before = self.cost_of(rows)
        self.draft.take(row, (column,), self.movable[lease_id].ask, lease_id=lease_id)
        self.draft.leave(lease_id, old)
        return self.cost_of(rows) - before

    def elsewhere(self, lease_id: UUID, *, stay: bool) -> Found | None:
        """The best place but the lease's own device; on its own node only if `stay`."""
        row, column = self.place_of(lease_id) or (ALL, ALL)
        ask = self.movable[lease_id].ask
        away = self.ranker.best(ask, without=(row,))
        near = self._on_row(ask, row, column) if stay else None
        if near is None or (away is not None and away.score > near.score):
            return away
        return near

    def _on_row(self, ask: Ask, row: int, column: int) -> Found | None:
        only = np.array([row])
        takes, fits = self.view.rows_that_fit(ask, only)
        fits[0, column] = False
        if not takes[0] or not fits.any():
            return None
        score = total(self.ranker.policy.terms(self.view, ask, only, fits))
        best = int(np.where(fits[0], score[0], -(2**62)).argmax())
        return Found(row, (best,), int(score[0, best]))

    def allows(self, lease_ids: Iterable[UUID]) -> bool:
        """Whether these moves together keep the limit."""
        moved = [self.movable[lease_id] for lease_id in lease_ids]
        owners, limit = Counter(one.owner for one in moved), self.limit
        return (
            len(moved) <= limit.moves
            and (limit.state_mib is None or sum(one.state_mib for one in moved) <= limit.state_mib)
            and (limit.per_owner is None or max(owners.values(), default=0) <= limit.per_owner)
        )


class Step(NamedTuple):
    """A lease and the (row, column) that it goes to."""

    lease_id: UUID
    row: int
    column: int


Planner = Callable[[Problem, random.Random], Sequence[Step]]


def plan_consolidation(
    draft: Draft,
    *,
    movable: Mapping[UUID, MoveCost],
    limit: Limit,
    rng: random.Random,
    planner: Planner | None = None,
) -> DefragPlan:
    """The draft is left as it was found. Deterministic for the same fleet, movable leases, limit and rng's seed."""
    if not movable:
        now = standing(draft.view(0, FOREVER))
        return DefragPlan((), now, now)
    view = draft.view(min(one.ask.starts for one in movable.values()), FOREVER)
    problem = Problem(draft, view, limit, movable)
    before, mark = standing(view), draft.mark()
    steps = (planner or greedy)(problem, rng)
    draft.rollback(mark)
    moves = checked(problem, steps)
    after = standing(view)
    draft.rollback(mark)
    return DefragPlan(moves, before, after)


def checked(problem: Problem, steps: Sequence[Step]) -> tuple[Move, ...]:
    """The steps as moves, cut before the first that is not legal or spends too much, then at the best prefix.

    No prefix of it costs more than the fleet did at first. The moves stay drafted.
    """
    moves: list[Move] = []
    spent: list[UUID] = []
    grown = best = kept = 0
    marks = [problem.draft.mark()]
    for step in steps:
        here, ask = problem.place_of(step.lease_id), problem.movable[step.lease_id].ask
        spent.append(step.lease_id)
        if here is None or not problem.takes(ask, step.row, step.column) or not problem.allows(spent):
            break
        grown += problem.move(step.lease_id, step.row, step.column)
        if grown > 0:
            break
        layout = problem.draft.layout
        source, target = layout.device_ids[here[0]][here[1]], layout.device_ids[step.row][step.column]
        moves.append(Move(step.lease_id, layout.machines[step.row].node_id, (source,), (target,)))
        marks.append(problem.draft.mark())
        if grown < best:
            best, kept = grown, len(moves)
    problem.draft.rollback(marks[kept])
    return tuple(moves[:kept])


def greedy(problem: Problem, rng: random.Random) -> list[Step]:  # noqa: ARG001 - a planner without chance
    """Empty one node after another, the one with the least to move first, then devices in the same way."""
    steps: list[Step] = []
    for by_device in (False, True):
        for place in _places(problem, by_device=by_device):
            steps += _empty(problem, place, [step.lease_id for step in steps])
    return steps


def _places(problem: Problem, *, by_device: bool) -> list[Place]:
    """(row, column) of devices, or (row, ALL): what its leases could leave; with few and small ones first."""
    groups: dict[Place, list[UUID]] = {}
    for lease_id in problem.origin:
        row, column = problem.place_of(lease_id) or (ALL, ALL)
        groups.setdefault((row, column if by_device else ALL), []).append(lease_id)
    few = {place: leases for place, leases in groups.items() if len(leases) <= problem.limit.moves}
    return sorted(few, key=lambda place: (len(few[place]), sum(_size(problem, one) for one in few[place]), place))


def _leases_at(problem: Problem, place: Place) -> set[UUID]:
    """Who is there, of the future too."""
    row, column = place
    if column == ALL:
        return problem.draft.leases_on(row)
    return problem.draft.leases_at(problem.draft.layout.device_ids[row][column])


def _size(problem: Problem, lease_id: UUID) -> int:
    ask = problem.movable[lease_id].ask
    return FULL if ask.whole else ask.permille


def _empty(problem: Problem, place: Place, before: Sequence[UUID]) -> list[Step]:
    """Steps that move everyone away, the largest first; none if one cannot go, or the cost would not fall."""
    leases = _leases_at(problem, place)
    if not leases <= problem.origin.keys() or leases & set(before) or not problem.allows([*before, *leases]):
        return []
    mark, grown, steps = problem.draft.mark(), 0, []
    for lease_id in sorted(leases, key=lambda one: (-_size(problem, one), one)):
        found = problem.elsewhere(lease_id, stay=place[1] != ALL)
        if found is None:
            break
        grown += problem.move(lease_id, found.row, found.columns[0])
        steps.append(Step(lease_id, found.row, found.columns[0]))
        if grown > 0:
            break
    if len(steps) < len(leases) or grown >= 0:
        problem.draft.rollback(mark)
        return []
    return steps
