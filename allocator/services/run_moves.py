"""Every plan of moves, as far as it goes now."""

from __future__ import annotations

from datetime import datetime

from allocator.models import MovePlan, Relocation
from allocator.models.relocation import MovePlanKind, MovePlanState, RelocationState
from allocator.services import consolidate, empty_node, move_plans, relocate
from vxpu.states import LeaseState

BEFORE_SWITCH = (RelocationState.PREPARING, RelocationState.READY, RelocationState.HOOKING)


def run(*, now: datetime) -> int:
    """Returns the steps taken. Two at once do no harm: each step is guarded by the state that it starts from."""
    consolidate.end_noise(now=now)
    done = 0
    for plan in MovePlan.objects.filter(state=MovePlanState.RUNNING).order_by("created_at", "pk"):
        if plan.kind == MovePlanKind.DRAIN:
            empty_node.feed(plan_id=plan.pk, now=now)
        done += move_plans.run_plan(plan_id=plan.pk, now=now)
    left = Relocation.objects.filter(state=RelocationState.SWITCHED).exclude(plan__state=MovePlanState.RUNNING)
    for relocation_id in left.values_list("pk", flat=True):
        done += relocate.advance(relocation_id=relocation_id, now=now)
    return done


def go_over(*, now: datetime) -> int:
    """Moves whose old lease is silent or lost and whose new slice is ready: no hook is asked, the next step is the
    switch. Returns the steps taken."""
    ready = Relocation.objects.filter(
        state__in=BEFORE_SWITCH,
        lease__state__in=(LeaseState.UNREACHABLE, LeaseState.LOST),
        successor__state=LeaseState.READY,
    )
    found = list(ready.order_by("pk").values_list("pk", flat=True))
    return sum(relocate.advance(relocation_id=one, now=now) for one in found for _ in BEFORE_SWITCH)
