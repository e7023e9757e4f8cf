"""What a plan holds: put together to what was wished, handed over, prolonged, or given back."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from allocator.errors import MoveChanged, NothingToMove
from allocator.events import RoomMade
from allocator.locks import lock_device
from allocator.models import Device, Lease, MovePlan
from allocator.models.relocation import MovePlanState
from allocator.services import _keep
from allocator.services._end import drain
from plumbing import db, outbox
from plumbing.db import transaction_required
from vxpu.market import Wish
from vxpu.slices import Period, Slice
from vxpu.states import Isolation, LeaseState

P = MovePlanState


def hold_until(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.VXPU_ROOM_HOLD_S)


@db.transaction
def clear(*, plan_id: UUID, now: datetime) -> None:
    """RUNNING -> CLEARED: the pieces become one held lease for each owner, in one transaction.

    Raises NothingToMove when it does not fit after all (a booking for later came between).
    """
    seen = MovePlan.objects.get(pk=plan_id)
    devices = [lock_device(device_id=UUID(one)) for one in sorted(_devices(seen))]
    plan = MovePlan.objects.select_for_update(no_key=True).get(pk=plan_id)
    if plan.state != P.RUNNING:
        raise MoveChanged(f"The plan is {plan.state}.")
    give_back(plan=plan, now=now)
    plan.hold_until = hold_until(now)
    for owner, device in zip(plan.owners, devices, strict=True):
        _hold_final(plan, UUID(owner), device, now)
    MovePlan.objects.filter(pk=plan.pk).update(state=P.CLEARED, hold_until=plan.hold_until, version=plan.version + 1)
    outbox.publish(RoomMade(tenant_id=plan.tenant_id, plan_id=plan.pk, at=now))


def _devices(plan: MovePlan) -> list[str]:
    found: Any = _keep.wish_json(plan)["devices"]
    return [str(one) for one in found]


def _hold_final(plan: MovePlan, owner: UUID, device: Device, now: datetime) -> Lease:
    wanted: dict[str, Any] = _keep.wish_json(plan)
    wish = Wish(
        slice=Slice(memory_mib=wanted["memory_mib"], share_permille=wanted["share_permille"]),
        period=Period(starts_at=now, ends_at=_keep.ends_of(plan, now=now)),
        isolation_at_least=Isolation.EXCLUSIVE if wanted["whole"] else None,
        copy_permille=wanted["copy_permille"],
        cores_milli=wanted["cores_milli"],
        host_mib=wanted["host_mib"],
    )
    lease = _keep.hold(
        plan=plan, wish=wish, device=device, owner=owner, tenant_id=UUID(wanted["tenant_id"]), is_final=True, now=now
    )
    if lease is None:
        raise NothingToMove("The room is there, and a booking for later is in its way.")
    return lease


@transaction_required
def give_back(*, plan: MovePlan, now: datetime) -> None:
    """Every hold of the plan that is still one."""
    held = Lease.objects.select_for_update(no_key=True).filter(kept_for__plan=plan, state=LeaseState.HELD)
    for lease in held.order_by("pk"):
        drain(lease=lease, actor="allocator", reason="not_needed", now=now)


@db.transaction
def renew(*, plan_id: UUID, now: datetime) -> None:
    """A plan that takes long keeps what it has. In good time, or not at all: what has lapsed may be somebody's."""
    plan = MovePlan.objects.select_for_update(no_key=True).get(pk=plan_id)
    until = hold_until(now)
    if plan.state != P.RUNNING or plan.hold_until is None or (until - plan.hold_until).total_seconds() < 60:
        return
    held = Lease.objects.filter(kept_for__plan=plan, state=LeaseState.HELD, hold_until__gt=now)
    held.update(hold_until=until)
    MovePlan.objects.filter(pk=plan.pk).update(hold_until=until)
