"""Reads of moves and of plans of them. Callers are in the system scope, or see their own leases' moves only."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from allocator.models import MoveHold, MovePlan, Relocation
from allocator.models.relocation import PLAN_OPEN, MovePlanKind, MovePlanState, RelocationState
from plumbing.errors import NotFound
from vxpu.market import MoveView, RoomView


def move_view_of(move: Relocation) -> MoveView:
    """The frozen value of a row, with its plan and its lease."""
    return MoveView(
        id=move.pk,
        plan_id=move.plan_id,
        kind=move.plan.kind,
        reason=move.plan.reason,
        owner=move.lease.owner,
        tenant_id=move.tenant_id,
        lease_id=move.lease_id,
        successor_id=move.successor_id,
        from_device=move.from_device_id,
        to_device=move.to_device_id,
        state=move.state,
        cost_mib=move.cost_mib,
        hook_deadline=move.hook_deadline,
        hook_result=move.hook_result,
        hook_detail=move.hook_detail,
        created_at=move.created_at,
        switched_at=move.switched_at,
        ended_at=move.ended_at,
        end_reason=move.end_reason,
    )


def moves() -> QuerySet[Relocation]:
    return Relocation.objects.select_related("plan", "lease")


def get_move(*, relocation_id: UUID) -> Relocation:
    """Raises NotFound."""
    move = moves().filter(pk=relocation_id).first()
    if move is None:
        raise NotFound(f"There is no move {relocation_id}.")
    return move


def list_ready() -> list[Relocation]:
    """Those that wait for the shop's switch, oldest first."""
    found = moves().filter(state=RelocationState.HOOKING).exclude(hook_result="")
    return list(found.order_by("changed_at", "pk"))


def list_of_owners(*, owners: Iterable[UUID], states: Collection[str] = ()) -> list[Relocation]:
    """Oldest first; no states is all."""
    found = moves().filter(lease__owner__in=list(owners))
    return list((found.filter(state__in=states) if states else found).order_by("created_at", "pk"))


def is_spare(*, lease_id: UUID) -> bool:
    """A lease that was made to take over another's work and has not, or never will."""
    return Relocation.objects.filter(successor_id=lease_id, switched_at__isnull=True).exists()


def plans() -> QuerySet[MovePlan]:
    """For paging."""
    return MovePlan.objects.all()


def get_plan(*, plan_id: UUID) -> MovePlan:
    """Raises NotFound."""
    plan = MovePlan.objects.filter(pk=plan_id).first()
    if plan is None:
        raise NotFound("There is no such plan.", suggestion="See /api/v1/move-plans.")
    return plan


def list_rooms() -> list[RoomView]:
    """Open plans that make room, oldest first; `leases` of those that are cleared."""
    open_ones = MovePlan.objects.filter(kind=MovePlanKind.ROOM, state__in=PLAN_OPEN).order_by("created_at", "pk")
    found = []
    for plan in open_ones:
        final = MoveHold.objects.filter(plan=plan, is_final=True).select_related("lease")
        leases = {hold.lease.owner: hold.lease_id for hold in final} if plan.state == MovePlanState.CLEARED else {}
        found.append(RoomView(plan_id=plan.pk, owners=tuple(UUID(one) for one in plan.owners), leases=leases))
    return found


def room_failed_since(*, owner: UUID, since: datetime) -> bool:
    """Whether a plan for this owner ended without giving him room."""
    ended = MovePlan.objects.filter(state__in=[MovePlanState.FAILED, MovePlanState.CANCELLED], ended_at__gt=since)
    return ended.filter(owners__contains=[str(owner)]).exists()
