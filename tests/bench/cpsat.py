"""A CP-SAT neighbourhood over the emptiest and the fullest nodes: a planner for `defrag`. Wants OR-tools."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np

from allocator.engine.defrag import FULL, Load, Place, Problem, Step, greedy
from tests.bench.anneal import growth, ordered

# Nodes of a neighbourhood: so many that may be emptied, and so many that may take.
SOURCES, TARGETS = 10, 10
# Seconds of the solver's own deterministic clock, so that the same problem ends at the same answer everywhere.
EFFORT = 5.0


class SolverMissing(RuntimeError):
    """OR-tools is not installed: `pip install ortools`."""


def neighbourhood(problem: Problem, rng: random.Random, *, effort: float = EFFORT) -> Sequence[Step]:
    """The best reassignment within some nodes by the solver; never worse than the greedy plan."""
    start = problem.draft.mark()
    plain = greedy(problem, rng)
    problem.draft.rollback(start)
    hint = {step.lease_id: (step.row, step.column) for step in plain}
    found = ordered(problem, _solve(problem, _rows(problem, hint), hint, seed=rng.randrange(2**31), effort=effort))
    return found if growth(problem, found) < growth(problem, plain) else plain


def _rows(problem: Problem, hint: Mapping[UUID, Place]) -> list[int]:
    """The greedy plan's nodes, those with few movable leases and nothing else, and the fullest that have room."""
    movable: dict[int, int] = defaultdict(int)
    for row, _ in problem.origin.values():
        movable[row] += 1
    sources = [row for row in movable if problem.draft.leases_on(row) <= problem.origin.keys()]
    sources = sorted(sources, key=lambda row: (movable[row], row))[:SOURCES]
    load = Load(problem.view, slice(None))
    room = load.devices * FULL - load.used.sum(axis=1)
    rest = [row for row in np.argsort(room, kind="stable").tolist() if room[row] > 0 and row not in sources]
    known = {row for lease_id, (row, _) in hint.items()} | {problem.origin[lease_id][0] for lease_id in hint}
    return sorted({*known, *sources, *rest[:TARGETS]})


def _solve(
    problem: Problem, rows: Sequence[int], hint: Mapping[UUID, Place], *, seed: int, effort: float
) -> dict[UUID, Place]:
    """Where each lease that should move goes. Whether the way there is legal is for `ordered` to find."""
    cp_model = _solver()
    model = cp_model.CpModel()
    leases = [lease_id for lease_id, (row, _) in problem.origin.items() if row in rows]
    chosen: dict[tuple[UUID, Place], Any] = {}
    for lease_id in leases:
        mine = {place: model.new_bool_var("") for place in _places_for(problem, lease_id, rows)}
        model.add_exactly_one(mine.values())
        goes = hint.get(lease_id, problem.origin[lease_id])
        for place, var in mine.items():
            chosen[lease_id, place] = var
            model.add_hint(var, place == goes)
    used = _limit_devices(problem, model, chosen)
    _limit_hosts(problem, model, rows, chosen)
    moved = {key: var for key, var in chosen.items() if problem.origin[key[0]] != key[1]}
    _limit_moves(problem, model, moved)
    devices = problem.view.layout.devices
    nodes = {row: model.new_bool_var("") for row in rows}
    for (row, _), var in used.items():
        model.add_implication(var, nodes[row])
    cost = [FULL * var for var in used.values()] + [FULL * int(devices[row]) * var for row, var in nodes.items()]
    model.minimize(sum(cost) + sum(moved.values()))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers, solver.parameters.random_seed = 1, seed
    solver.parameters.max_deterministic_time = effort
    solver.parameters.cp_model_probing_level, solver.parameters.symmetry_level = 0, 0
    solver.parameters.hint_conflict_limit = 100
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return {}
    return {lease_id: place for (lease_id, place), var in moved.items() if solver.value(var)}


def _solver() -> Any:
    try:
        from ortools.sat.python import cp_model  # type: ignore[import-not-found]
    except ImportError as error:
        raise SolverMissing("The CP-SAT planner wants OR-tools: pip install ortools.") from error
    return cp_model


def _places_for(problem: Problem, lease_id: UUID, rows: Sequence[int]) -> list[Place]:
    """Its own place, and the devices of the rows that would take it if they were empty of movable leases."""
    home, ask = problem.origin[lease_id], problem.movable[lease_id].ask
    may = problem.view.layout.may_serve(ask) & problem.view.open & (problem.view.layout.permille >= ask.permille)
    others = [(row, int(column)) for row in rows for column in np.flatnonzero(may[row])]
    return [home, *(place for place in others if place != home)]


def _limit_devices(problem: Problem, model: Any, chosen: dict[tuple[UUID, Place], Any]) -> dict[Place, Any]:
    """What each device holds; returns whether it is in use."""
    view, at = problem.view, defaultdict(list)
    for (lease_id, place), var in chosen.items():
        at[place].append((problem.movable[lease_id].ask, var, problem.origin[lease_id] == place))
    used = {}
    for place, here in at.items():
        used[place] = model.new_bool_var("")
        # One that takes the device whole takes all of its compute, so nothing else fits beside it.
        permille, mib = int(view.layout.permille[place]), int(view.layout.mib[place])
        sizes = [(permille, mib) if ask.whole else (ask.permille, ask.mib) for ask, _, _ in here]
        mine = [size for size, (_, _, is_home) in zip(sizes, here, strict=True) if is_home]
        room = int(view.permille[place]) + sum(size[0] for size in mine)
        memory = int(view.mib[place]) + sum(size[1] for size in mine)
        model.add(sum(size[0] * var for size, (_, var, _) in zip(sizes, here, strict=True)) <= room * used[place])
        model.add(sum(size[1] * var for size, (_, var, _) in zip(sizes, here, strict=True)) <= memory)
        if int(view.pieces[place]) > len(mine):
            model.add(used[place] == 1)
    return used


def _limit_hosts(problem: Problem, model: Any, rows: Sequence[int], chosen: dict[tuple[UUID, Place], Any]) -> None:
    at = defaultdict(list)
    for (lease_id, place), var in chosen.items():
        at[place[0]].append((problem.movable[lease_id].ask, var))
    for row in rows:
        here = at[row]
        home = [problem.movable[one].ask for one, place in problem.origin.items() if place[0] == row]
        cores = int(problem.view.cores[row]) + sum(ask.cores_milli for ask in home)
        mib = int(problem.view.host_mib[row]) + sum(ask.host_mib for ask in home)
        model.add(sum(ask.cores_milli * var for ask, var in here) <= cores)
        model.add(sum(ask.host_mib * var for ask, var in here) <= mib)


def _limit_moves(problem: Problem, model: Any, moved: dict[tuple[UUID, Place], Any]) -> None:
    limit, owners = problem.limit, defaultdict(list)
    for (lease_id, _), var in moved.items():
        owners[problem.movable[lease_id].owner].append(var)
    model.add(sum(moved.values()) <= limit.moves)
    if limit.state_mib is not None:
        model.add(
            sum(problem.movable[lease_id].state_mib * var for (lease_id, _), var in moved.items()) <= limit.state_mib
        )
    if limit.per_owner is not None:
        for mine in owners.values():
            model.add(sum(mine) <= limit.per_owner)
