"""Room that a plan of moves has made is held for it from the moment that it comes free: nobody else can take it.

The piece of a lease that left is given back and taken again in one transaction. A booking of somebody else waits for
the device's row, or sees the piece still taken; after our commit it sees the hold.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from allocator.errors import DoesNotFit
from allocator.models import Device, Lease, MoveHold, MovePlan, Relocation, Segment
from allocator.models.relocation import MovePlanKind, MovePlanState, RelocationState
from allocator.services import place
from plumbing import db
from plumbing.db import transaction_required
from vxpu.market import Candidate, Wish
from vxpu.slices import Period, Slice
from vxpu.states import Isolation


@transaction_required
def keep_room(*, lease: Lease, now: datetime) -> None:
    """The lease has just ended. If it was moved away for a plan that makes room here, its piece is the plan's."""
    moved = Relocation.objects.select_related("plan", "lease__device").filter(
        lease=lease, state=RelocationState.SWITCHED, plan__kind=MovePlanKind.ROOM, plan__state=MovePlanState.RUNNING
    )
    move = moved.first()
    if move is not None and str(lease.device_id) in wish_json(move.plan)["devices"]:
        piece = Slice(memory_mib=lease.memory_mib, share_permille=lease.share_permille)
        left = Segment.objects.filter(lease=lease, slots__isnull=False).order_by("period").last()
        slots = None if left is None or left.slots is None else (left.slots.lower, left.slots.upper)
        hold_piece(plan=move.plan, device=move.lease.device, piece=piece, whole=lease.whole, slots=slots, now=now)


@transaction_required
def hold_piece(
    *,
    plan: MovePlan,
    device: Device,
    piece: Slice,
    whole: bool,
    now: datetime,
    slots: tuple[int, int] | None = None,
) -> bool:
    """Whether it was there to be held; on a card that is cut the very `slots` that came free.

    A later booking may be in the way of the piece's whole time; the end decides.
    """
    ends_at = ends_of(plan, now=plan.created_at)
    if ends_at is not None and ends_at <= now:
        return False
    wish = Wish(
        slice=piece, period=Period(starts_at=now, ends_at=ends_at),
        isolation_at_least=Isolation.EXCLUSIVE if whole else None,
    )  # fmt: skip
    held = hold(
        plan=plan, wish=wish, device=device, owner=plan.pk, tenant_id=plan.tenant_id, is_final=False, now=now,
        slots=slots,
    )  # fmt: skip
    return held is not None


@transaction_required
def hold(
    *,
    plan: MovePlan,
    wish: Wish,
    device: Device,
    owner: UUID,
    tenant_id: UUID,
    is_final: bool,
    now: datetime,
    slots: tuple[int, int] | None = None,
) -> Lease | None:
    """A held lease of the plan's. None if the database refuses it."""
    piece = None if slots is None else wish.slice
    candidate = Candidate(device_id=device.pk, node_id=device.node_id, score=0, slice=piece, slots=slots)
    try:
        with db.savepoint():
            lease = place.book(
                tenant_id=tenant_id, owner=owner, wish=wish, candidates=[candidate], hold_until=plan.hold_until,
                now=now, operator_tenant=settings.VXPU_OPERATOR_TENANT,
            )  # fmt: skip
    except DoesNotFit:
        return None
    MoveHold.objects.create(tenant_id=plan.tenant_id, created_at=now, plan=plan, lease=lease, is_final=is_final)
    return lease


def wish_json(plan: MovePlan) -> dict[str, Any]:
    """What the plan makes room for; `devices` are the ids, as text, of where it will be."""
    return {"devices": [], **(plan.wish or {})}


def ends_of(plan: MovePlan, *, now: datetime) -> datetime | None:
    """The end of what was wished if it begins now; None is open-ended."""
    seconds = wish_json(plan).get("seconds")
    return now + timedelta(seconds=seconds) if isinstance(seconds, int) else None
