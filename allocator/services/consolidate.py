"""In quiet hours: few moves after which whole nodes are empty. Off unless the operator says how many."""

from __future__ import annotations

import random
from datetime import datetime
from uuid import UUID

from django.conf import settings

from allocator.engine.defrag import plan_consolidation
from allocator.engine.make_room import Limit
from allocator.errors import NothingToMove
from allocator.models import MovePlan
from allocator.models.relocation import PLAN_OPEN, MovePlanKind, MovePlanState
from allocator.services import move_plans
from allocator.services._movable import MostADay, overdone, read_movable
from allocator.services._picture import PICTURE
from allocator.services.quiet import is_quiet
from plumbing import db


def consolidate(*, now: datetime) -> UUID | None:
    """Begin a plan if one empties a node; its id. A plan that outlasts the quiet hours is called off (`end_noise`)."""
    if not settings.VXPU_CONSOLIDATION_MOVES or not is_quiet(now):
        return None
    if MovePlan.objects.filter(kind=MovePlanKind.CONSOLIDATION, state__in=PLAN_OPEN).exists():
        return None
    steps = plan_steps(moves=settings.VXPU_CONSOLIDATION_MOVES, now=now)
    return _begin(steps=steps, now=now) if steps else None


def plan_steps(*, moves: int, now: datetime) -> list[move_plans.Step]:
    """Moves in order, or none where no node would be empty in the end."""
    costs, most = read_movable(now=now), MostADay()
    limit = Limit(moves=moves, per_owner=min((most.in_pool(one.ask.pool) for one in costs.values()), default=0))
    with PICTURE.look(now=now) as seen:
        plan = plan_consolidation(seen.draft, movable=costs, limit=limit, rng=random.Random(0))  # noqa: S311
    moved = [move.lease_id for move in plan.moves]
    if plan.after.nodes_in_use >= plan.before.nodes_in_use or overdone(lease_ids=moved, costs=costs, now=now):
        return []
    return [move_plans.Step(lease_id=move.lease_id, to_device=move.target[0]) for move in plan.moves]


@db.transaction
def _begin(*, steps: list[move_plans.Step], now: datetime) -> UUID | None:
    try:
        plan = move_plans.begin(
            kind=MovePlanKind.CONSOLIDATION, steps=steps, reason="to empty nodes", actor="allocator", now=now
        )
    except NothingToMove:
        return None
    return plan.pk


def end_noise(*, now: datetime) -> None:
    """After the quiet hours nothing more is begun; what is under way and not switched stays where it is."""
    if is_quiet(now):
        return
    for plan in MovePlan.objects.filter(kind=MovePlanKind.CONSOLIDATION, state__in=PLAN_OPEN):
        move_plans.stop(
            plan_id=plan.pk, to=MovePlanState.CANCELLED, reason="the quiet hours are over", actor="allocator", now=now
        )
