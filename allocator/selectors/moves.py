"""Reads of moves and of plans of them. Callers are in the system scope, or see their own leases' moves only."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from allocator.models import MoveHold, MovePlan, Relocation
from allocator.models.relocation import PLAN_OPEN, MovePlanKind, MovePlanState, RelocationState
from plumbing.errors import NotFound
from vxpu.market import MoveView, RoomView

SWITCHED = (RelocationState.SWITCHED, RelocationState.DONE)
GIVEN_UP = (RelocationState.CANCELLED, RelocationState.FAILED)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """A plan, how far it is, and its moves in order (none in a list of plans)."""

    id: UUID
    kind: str
    state: str
    reason: str
    started_by: str
    node_id: UUID | None
    owners: tuple[UUID, ...]
    moves_total: int
    moves_done: int
    moves_failed: int
    created_at: datetime
    ended_at: datetime | None
    end_reason: str
    moves: tuple[MoveView, ...] = ()


def plan_view(*, plan_id: UUID) -> PlanView:
    """With its moves. Raises NotFound."""
    rows = moves().filter(plan=get_plan(plan_id=plan_id)).order_by("position")
    return replace(brief_of(get_plan(plan_id=plan_id)), moves=tuple(move_view_of(row) for row in rows))


def brief_of(plan: MovePlan) -> PlanView:
    """Without its moves."""
    states = list(plan.moves.values_list("state", flat=True))
    return PlanView(
        id=plan.pk,
        kind=plan.kind,
        state=plan.state,
        reason=plan.reason,
        started_by=plan.started_by,
        node_id=plan.node_id,
        owners=tuple(UUID(one) for one in plan.owners),
        moves_total=len(states),
        moves_done=sum(state in SWITCHED for state in states),
        moves_failed=sum(state in GIVEN_UP for state in states),
        created_at=plan.created_at,
        ended_at=plan.ended_at,
        end_reason=plan.end_reason,
    )


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
