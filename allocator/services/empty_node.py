"""A drain that moves: what can run elsewhere is relocated, the rest stays until its end."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import Count

from allocator.engine.make_room import MoveCost
from allocator.models import Lease, MovePlan, Node
from allocator.models.lease import LIVE
from allocator.models.relocation import DOUBLED, PLAN_OPEN, MovePlanKind, MovePlanState, RelocationState
from allocator.selectors.maintenance import find_open
from allocator.services import move_plans
from allocator.services._elsewhere import find_elsewhere
from allocator.services._movable import read_movable
from plumbing import db
from plumbing.db import transaction_required

AT_ONCE = 4
TRIES = 3


@transaction_required
def begin(*, node: Node, reason: str, actor: str, now: datetime) -> None:
    """A plan that gets its moves as there is room for them. Idempotent. The node is locked."""
    if not MovePlan.objects.filter(node=node, state__in=PLAN_OPEN).exists():
        move_plans.begin(
            kind=MovePlanKind.DRAIN, steps=[], reason=reason, actor=actor, now=now, at_once=AT_ONCE, node=node
        )


@transaction_required
def call_off(*, node: Node, actor: str, now: datetime) -> None:
    """What has not switched stays where it is. The node is locked."""
    for plan in MovePlan.objects.filter(node=node, state__in=PLAN_OPEN):
        move_plans.stop_plan(plan_id=plan.pk, to=MovePlanState.CANCELLED, reason="undrained", actor=actor, now=now)


def feed(*, plan_id: UUID, now: datetime) -> int:
    """The next moves of a drain that has begun, no more than may be under way; returns how many. Ends an empty one's.

    A lease that could not be moved three times stays.
    """
    plan = MovePlan.objects.get(pk=plan_id)
    period = None if plan.node_id is None else find_open(node_id=plan.node_id)
    if plan.node_id is None or period is None or period.starts_at > now:
        return 0
    if not Lease.objects.filter(node_id=plan.node_id, state__in=LIVE).exists():
        move_plans.stop(plan_id=plan_id, to=MovePlanState.DONE, reason="", actor="allocator", now=now)
        return 0
    waiting = plan.moves.filter(state__in=[RelocationState.PLANNED, *DOUBLED, RelocationState.SWITCHED]).count()
    steps = _steps(plan, limit=plan.at_once - waiting, now=now)
    return len(steps) if steps and _add(plan_id=plan_id, steps=steps, now=now) else 0


def _steps(plan: MovePlan, *, limit: int, now: datetime) -> list[move_plans.Step]:
    """The largest first: they are the hardest to place."""
    if limit <= 0 or plan.node_id is None:
        return []
    tried = plan.moves.values("lease_id").annotate(tries=Count("pk")).filter(tries__gte=TRIES)
    tired = {row["lease_id"] for row in tried}
    found = read_movable(now=now, node_id=plan.node_id, whatever=True)
    order = sorted(found, key=lambda one: (-_size(found[one]), one))
    steps: list[move_plans.Step] = []
    gangs: set[str] = set()  # one member at a time: where it goes counts for the next
    for lease_id in order:
        if lease_id not in tired and len(steps) < limit:
            lease = Lease.objects.select_related("device", "node__pool", "node__site").get(pk=lease_id)
            gang = (lease.wanted or {}).get("group", str(lease_id))
            best = None if gang in gangs else find_elsewhere(lease=lease, now=now)
            if best is not None:
                gangs.add(gang)
                steps.append(move_plans.Step(lease_id=lease_id, to_device=best.device_id))
    return steps


def _size(cost: MoveCost) -> int:
    return 1000 if cost.ask.whole else cost.ask.permille


@db.transaction
def _add(*, plan_id: UUID, steps: list[move_plans.Step], now: datetime) -> bool:
    plan = MovePlan.objects.select_for_update(no_key=True).get(pk=plan_id)
    if plan.state != MovePlanState.RUNNING:
        return False
    move_plans.add_steps(plan=plan, steps=steps, now=now)
    return True
