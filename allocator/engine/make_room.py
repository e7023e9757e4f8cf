"""Room on refusal: a plan of few moves after which an ask fits, drafted and rolled back.

Every node that could hold the ask is ranked by the fewest moves it may need; for the best of them the leases to move
are chosen (fewest, then cheapest) and tried in order: the hardest to place first, each by the policy, anywhere else.
A moved lease takes its new place before it leaves the old one, so every prefix of a plan is a legal fleet, and the plan
is there only if all that was placed before is placed after it, and the ask as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

import numpy as np

from allocator.engine.draft import Draft
from allocator.engine.fleet import Ask, HostTaken, Taken
from allocator.engine.mix import WHOLE
from allocator.engine.policies.base import Policy
from allocator.engine.search import Found, Ranker
from allocator.engine.view import View

# Views of other windows than the ask's that one search may make.
WINDOWS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveCost:
    """A lease that may be moved: what it would ask for again, its owner, and the measured size of its state in MiB."""

    ask: Ask
    owner: UUID
    state_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Of one plan. `moves_for_one`: when one device or a share of one is asked for. `per_owner` and `state_mib` of all
    moves together; None is no limit."""

    moves: int = 8
    moves_for_one: int = 2
    per_owner: int | None = None
    state_mib: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much may be tried: nodes looked at in detail, and trial placements; fewer for one device or a share."""

    nodes: int = 600
    trials: int = 400
    nodes_for_one: int = 200
    trials_for_one: int = 100


class Move(NamedTuple):
    """To `node_id`, there to the devices `target`, from the devices `source`."""

    lease_id: UUID
    node_id: UUID
    source: tuple[UUID, ...]
    target: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class RoomPlan:
    """Moves in order, then the place of the ask: its devices on `place.row`."""

    moves: tuple[Move, ...]
    place: Found
    devices: tuple[UUID, ...]


class Fragmented(NamedTuple):
    """The devices would do, but not together: `free` on `nodes`."""

    free: int
    nodes: int

    def __str__(self) -> str:
        return f"fragmented: {self.free} free on {self.nodes} nodes"


def fragmented(view: View, ask: Ask) -> Fragmented | None:
    """Why an ask for several devices of one node is refused, if so many are free on several."""
    free = view.fits(ask, slice(None)).sum(axis=1)
    if ask.devices < 2 or int(free.max(initial=0)) >= ask.devices or int(free.sum()) < ask.devices:
        return None
    return Fragmented(int(free.sum()), int((free > 0).sum()))


def make_room(
    draft: Draft,
    ask: Ask,
    *,
    policy: Policy,
    limit: Limit,
    movable: Mapping[UUID, MoveCost],
    budget: Budget = Budget(),
    ranker: Ranker | None = None,
) -> RoomPlan | None:
    """The plan with the fewest moves that was found within the budget; None if there was none. The draft is as before.

    `ranker`: one of the same view and policy, for the scores that it keeps.
    """
    ranker = ranker or Ranker(draft.view(ask.starts, ask.ends), policy)
    return _Search(draft, ask, ranker, limit, movable, budget).run()


class _Tenancy(NamedTuple):
    """What one lease takes of a node, by column, in (permille, MiB, copy permille); and of its host."""

    lease_id: UUID
    by_column: dict[int, tuple[int, int, int]]
    cores_milli: int
    host_mib: int


class _Candidate(NamedTuple):
    """Leases to move off a node so that the ask fits there. Sorts by what it costs."""

    moves: int
    weight: int
    state_mib: int
    row: int
    leases: tuple[UUID, ...]


@dataclass(slots=True)
class _Search:
    draft: Draft
    ask: Ask
    ranker: Ranker
    limit: Limit
    movable: Mapping[UUID, MoveCost]
    budget: Budget
    _rankers: dict[tuple[int, int], Ranker] = field(default_factory=dict)
    _trials: int = 0

    @property
    def view(self) -> View:
        return self.ranker.view

    @property
    def is_small(self) -> bool:
        return self.ask.devices <= 1

    def run(self) -> RoomPlan | None:
        most = self.limit.moves_for_one if self.is_small else self.limit.moves
        trials = self.budget.trials_for_one if self.is_small else self.budget.trials
        found = [one for row in self._rows(most) if (one := self._candidate(row, most)) is not None]
        for candidate in sorted(found):
            if self._trials >= trials:
                break
            if self._may_hold(candidate):
                plan = self._try(candidate)
                if plan is not None:
                    return plan
        return None

    def _rows(self, most: int) -> list[int]:
        """Nodes that could hold the ask if they were empty, those that may need the fewest moves first."""
        view, ask = self.view, self.ask
        layout = view.layout
        serves = layout.may_serve(ask) & view.open & (layout.permille >= ask.permille) & (layout.mib >= ask.mib)
        possible = (serves.sum(axis=1) >= ask.devices) & (layout.cores >= ask.cores_milli)
        possible &= layout.host_mib >= ask.host_mib
        missing = np.maximum(0, ask.devices - view.fits(ask, slice(None)).sum(axis=1))
        short = np.maximum(0, ask.cores_milli - view.cores)
        rows = np.flatnonzero(
            possible & (missing <= most) & ((missing > 0) | (short > 0) | (view.host_mib < ask.host_mib))
        )
        open_permille = np.where(serves, np.minimum(view.permille, ask.permille), 0)
        near = np.sort(open_permille[rows], axis=1)[:, ::-1][:, : ask.devices].sum(axis=1)
        order = np.lexsort((rows, short[rows] // 4000 - near, missing[rows] + (short[rows] > 0)))
        nodes = self.budget.nodes_for_one if self.is_small else self.budget.nodes
        chosen: list[int] = rows[order][:nodes].tolist()
        return chosen

    def _candidate(self, row: int, most: int) -> _Candidate | None:
        tenants = self._tenants(row)
        chosen = self._clear_devices(row, tenants, most)
        if chosen is None or not self._clear_host(row, tenants, chosen, most) or not chosen:
            return None
        costs = [self.movable[lease_id] for lease_id in chosen]
        owners = Counter(cost.owner for cost in costs)
        state_mib = sum(cost.state_mib for cost in costs)
        if self.limit.per_owner is not None and max(owners.values()) > self.limit.per_owner:
            return None
        if self.limit.state_mib is not None and state_mib > self.limit.state_mib:
            return None
        weight = sum(_size(cost.ask) for cost in costs)
        return _Candidate(len(chosen), weight, state_mib, row, tuple(sorted(chosen)))

    def _tenants(self, row: int) -> dict[UUID, _Tenancy]:
        """Who has something on the node in the ask's period."""
        found = {}
        for lease_id in sorted(self.draft.leases_on(row)):
            devices, cores, host_mib = {}, 0, 0
            for place_id, piece in self.draft.pieces_of(lease_id):
                if piece.starts >= self.ask.ends or piece.ends <= self.ask.starts:
                    continue
                if isinstance(piece, HostTaken):
                    cores, host_mib = cores + piece.cores_milli, host_mib + piece.mib
                else:
                    devices[self.view.layout.place_of[place_id][1]] = (piece.permille, piece.mib, piece.copy_permille)
            found[lease_id] = _Tenancy(lease_id, devices, cores, host_mib)
        return found

    def _may_go(self, lease_id: UUID) -> bool:
        """Only what is smaller than the ask: else the trouble moves on with the lease."""
        cost = self.movable.get(lease_id)
        return cost is not None and (cost.ask.devices == 0 or _size(cost.ask) < _size(self.ask))

    def _clear_devices(self, row: int, tenants: Mapping[UUID, _Tenancy], most: int) -> set[UUID] | None:
        """Leases whose leaving gives the node enough devices, or None: device after device, fewest new leases first."""
        view, ask = self.view, self.ask
        fits = view.fits(ask, np.array([row]))[0]
        missing = ask.devices - int(fits.sum())
        chosen: set[UUID] = set()
        serves = view.layout.may_serve(ask)[row] & view.open[row]
        ways = {}
        for column in np.flatnonzero(serves & ~fits).tolist():
            way = self._clear_device(row, column, tenants)
            if way is not None:
                ways[column] = way
        while missing > 0 and ways:
            column = min(ways, key=lambda one: (len(ways[one] - chosen), self._weight(ways[one] - chosen), one))
            chosen |= ways.pop(column)
            missing -= 1
        return chosen if missing <= 0 and len(chosen) <= most else None

    def _weight(self, leases: set[UUID]) -> int:
        return sum(_size(self.movable[lease_id].ask) for lease_id in leases)

    def _clear_device(self, row: int, column: int, tenants: Mapping[UUID, _Tenancy]) -> set[UUID] | None:
        """The leases to take off one device: all for a whole one, else the one smallest that suffices, or several."""
        view, ask = self.view, self.ask
        on_it = [one for one in tenants.values() if column in one.by_column]
        free = [one for one in on_it if self._may_go(one.lease_id)]
        if ask.whole:
            return {one.lease_id for one in on_it} if len(free) == len(on_it) else None
        need = (
            ask.permille - int(view.permille[row, column]),
            ask.mib - int(view.mib[row, column]),
            ask.copy_permille - int(view.copy[row, column]),
        )
        free.sort(key=lambda one: (one.by_column[column], one.lease_id))
        for one in free:
            if all(wanted <= freed for wanted, freed in zip(need, one.by_column[column], strict=True)):
                return {one.lease_id}
        taken: set[UUID] = set()
        for one in reversed(free):
            need = tuple(wanted - freed for wanted, freed in zip(need, one.by_column[column], strict=True))  # type: ignore[assignment]
            taken.add(one.lease_id)
            if max(need) <= 0:
                return taken
        return None

    def _clear_host(self, row: int, tenants: Mapping[UUID, _Tenancy], chosen: set[UUID], most: int) -> bool:
        """Adds leases until the host has what is asked of it: one that suffices, else those with the most cores."""
        cores = self.ask.cores_milli - int(self.view.cores[row]) - sum(tenants[one].cores_milli for one in chosen)
        mib = self.ask.host_mib - int(self.view.host_mib[row]) - sum(tenants[one].host_mib for one in chosen)
        rest = [one for lease_id, one in tenants.items() if lease_id not in chosen and self._may_go(lease_id)]
        while (cores > 0 or mib > 0) and rest and len(chosen) < most:
            enough = [one for one in rest if one.cores_milli >= cores and one.host_mib >= mib]
            if enough:
                go = min(enough, key=lambda one: (self._weight({one.lease_id}), one.cores_milli, one.lease_id))
            else:
                go = max(rest, key=lambda one: (not one.by_column, one.cores_milli, one.lease_id))
            rest.remove(go)
            chosen.add(go.lease_id)
            cores, mib = cores - go.cores_milli, mib - go.host_mib
        return cores <= 0 and mib <= 0

    def _may_hold(self, candidate: _Candidate) -> bool:
        """Whether the free whole devices elsewhere are as many as the moved leases want."""
        asks = [self.movable[lease_id].ask for lease_id in candidate.leases]
        wanted = sum(ask.devices for ask in asks if ask.whole or ask.permille >= WHOLE)
        if wanted == 0:
            return True
        free = (self.view.permille >= WHOLE) & self.view.open
        return wanted <= int(free.sum()) - int(free[candidate.row].sum())

    def _try(self, candidate: _Candidate) -> RoomPlan | None:
        mark = self.draft.mark()
        order = sorted(
            candidate.leases,
            key=lambda one: (-_size(self.movable[one].ask), -self.movable[one].ask.cores_milli, one),
        )
        moves = []
        for lease_id in order:
            move = self._move(lease_id, candidate.row)
            if move is None:
                break
            moves.append(move)
        takes, _ = self.view.rows_that_fit(self.ask, np.array([candidate.row]))
        plan = None
        if len(moves) == len(order) and takes[0]:
            columns = self.view.pick(self.ask, candidate.row) if self.ask.devices else ()
            ids = self.view.layout.device_ids[candidate.row]
            plan = RoomPlan(tuple(moves), Found(candidate.row, columns, 0), tuple(ids[column] for column in columns))
        self.draft.rollback(mark)
        return plan

    def _move(self, lease_id: UUID, row: int) -> Move | None:
        """To its best place off the row: placed there, then taken away here."""
        ask = self.movable[lease_id].ask
        found = self._place_for(ask, row)
        if found is None:
            return None
        old = self.draft.pieces_of(lease_id)
        self.draft.take(found.row, found.columns, ask, lease_id=lease_id)
        self.draft.leave(lease_id, old)
        ids = self.view.layout.device_ids[found.row]
        source = tuple(sorted(place_id for place_id, piece in old if isinstance(piece, Taken)))
        node_id = self.view.layout.machines[found.row].node_id
        return Move(lease_id, node_id, source, tuple(ids[column] for column in found.columns))

    def _place_for(self, ask: Ask, row: int) -> Found | None:
        """What is free for longer is free for the ask: its own window, a view to make, is looked at only then."""
        window = (ask.starts, ask.ends)
        view = self.view
        self._trials += 1
        if view.starts <= ask.starts and ask.ends <= view.ends:
            found = self.ranker.best(ask, without=(row,))
            if found is not None or window == (view.starts, view.ends):
                return found
        ranker = self._rankers.get(window)
        if ranker is None:
            if len(self._rankers) >= WINDOWS:
                return None
            ranker = self._rankers[window] = Ranker(self.draft.view(*window), self.ranker.policy)
        return ranker.best(ask, without=(row,))


def _size(ask: Ask) -> int:
    """Permille of devices, all of them together."""
    return ask.devices * (WHOLE if ask.whole else ask.permille)
