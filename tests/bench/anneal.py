"""Simulated annealing over where the movable leases are: a planner for `defrag`."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from uuid import UUID

import numpy as np

from allocator.engine.defrag import FULL, Place, Problem, Step, greedy, total

STEPS = 4_000
# Rows that are looked at for a new place.
SAMPLE = 12
HOT, COLD = 1.5 * FULL, 0.02 * FULL
# Of the steps, so many tenths bring a moved lease home again.
HOME = 2


def anneal(problem: Problem, rng: random.Random, *, steps: int = STEPS) -> Sequence[Step]:
    """From the greedy plan on, `steps` single relocations; never worse than the greedy plan."""
    start = problem.draft.mark()
    plain = greedy(problem, rng)
    problem.draft.rollback(start)
    targets = _search(problem, plain, rng, steps)
    problem.draft.rollback(start)
    found = ordered(problem, targets)
    better = growth(problem, found) < growth(problem, plain)
    return found if better else plain


def _search(problem: Problem, plain: Sequence[Step], rng: random.Random, steps: int) -> dict[UUID, Place]:
    """Where the leases of the best state seen are, those that left their places."""
    away: dict[UUID, Place] = {}
    grown = 0
    for step in plain:
        grown += problem.move(step.lease_id, step.row, step.column)
        away[step.lease_id] = (step.row, step.column)
    best, kept, ids = grown, dict(away), list(problem.origin)
    for number in range(steps if ids else 0):
        temperature = HOT * (COLD / HOT) ** (number / steps)
        lease_id = rng.choice(sorted(away)) if away and rng.randrange(10) < HOME else rng.choice(ids)
        place = _new_place(problem, lease_id, away, rng)
        if place is None:
            continue
        mark = problem.draft.mark()
        delta = problem.move(lease_id, *place)
        if delta > 0 and rng.random() >= math.exp(-delta / temperature):
            problem.draft.rollback(mark)
            continue
        grown += delta
        away.pop(lease_id, None)
        if place != problem.origin[lease_id]:
            away[lease_id] = place
        if grown < best:
            best, kept = grown, dict(away)
    return kept


def _new_place(problem: Problem, lease_id: UUID, away: dict[UUID, Place], rng: random.Random) -> Place | None:
    """Home, or the least costly of some rows; None if there is no room or the limit forbids it."""
    home, ask = problem.origin[lease_id], problem.movable[lease_id].ask
    if lease_id in away and rng.randrange(2):
        return home if problem.takes(ask, *home) else None
    if not problem.allows({*away, lease_id}):
        return None
    count = problem.view.layout.rows
    rows = np.array(sorted(rng.sample(range(count), min(SAMPLE, count))), np.int64)
    takes, fits = problem.view.rows_that_fit(ask, rows)
    fits &= takes[:, None]
    here = away.get(lease_id, home)
    fits[rows == here[0], here[1]] = False
    if not fits.any():
        return None
    score = total(problem.ranker.policy.terms(problem.view, ask, rows, fits))
    at, column = np.unravel_index(int(np.where(fits, score, -(2**62)).argmax()), fits.shape)
    return int(rows[at]), int(column)


def ordered(problem: Problem, targets: dict[UUID, Place]) -> list[Step]:
    """The targets as a legal order of moves, the one that helps most first; what cannot be reached is left out.

    Leaves the draft as it was.
    """
    mark, grown = problem.draft.mark(), 0
    left, steps = dict(targets), []
    while left:
        found = [
            (_growth_of(problem, lease_id, place), lease_id)
            for lease_id, place in sorted(left.items())
            if problem.takes(problem.movable[lease_id].ask, *place)
        ]
        if not found or grown + min(found)[0] > 0:
            break
        lease_id = min(found)[1]
        row, column = left.pop(lease_id)
        grown += problem.move(lease_id, row, column)
        steps.append(Step(lease_id, row, column))
    problem.draft.rollback(mark)
    return steps


def growth(problem: Problem, steps: Sequence[Step]) -> int:
    """The lowest that the cost comes to along the steps, against now. Leaves the draft as it was."""
    mark, grown, best = problem.draft.mark(), 0, 0
    for step in steps:
        grown += problem.move(step.lease_id, step.row, step.column)
        best = min(best, grown)
    problem.draft.rollback(mark)
    return best


def _growth_of(problem: Problem, lease_id: UUID, place: Place) -> int:
    mark = problem.draft.mark()
    delta = problem.move(lease_id, *place)
    problem.draft.rollback(mark)
    return delta
