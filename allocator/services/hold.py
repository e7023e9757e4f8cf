"""A hold is confirmed before its time is up, or lapses: exactly one of the two."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import connection

from allocator.errors import HoldLapsed, LeaseLost
from allocator.locks import lock_device, lock_lease
from allocator.models import Lease
from allocator.services._end import desired_changed
from allocator.services._move import move
from allocator.services.place import announce_lapsed, devices_with_lapsed_holds
from plumbing import db
from plumbing.db import transaction_required
from vxpu.states import LeaseState


@transaction_required
def confirm(*, lease_id: UUID, now: datetime) -> Lease:
    """HELD -> ASSIGNED. Again is no error. Raises HoldLapsed from `hold_until` on, LeaseLost for an ended lease."""
    lease = lock_lease(lease_id=lease_id)
    if lease.state in (LeaseState.GONE, LeaseState.LOST):
        if lease.end_reason == "hold_lapsed":
            raise _lapsed(lease)
        raise LeaseLost(f"Lease {lease.pk} is {lease.state}.")
    if lease.state != LeaseState.HELD:
        return lease
    if lease.hold_until is not None and lease.hold_until <= now:
        raise _lapsed(lease)
    move(lease=lease, to=LeaseState.ASSIGNED, actor="marketplace", reason="confirmed", now=now, hold_until=None)
    if lease.starts_at <= now:
        desired_changed(lease)
    return lease


def _lapsed(lease: Lease) -> HoldLapsed:
    return HoldLapsed(f"The hold of lease {lease.pk} has lapsed.", suggestion="Reserve again.")


def expire_holds(*, now: datetime) -> int:
    """Tidy up what has lapsed, a transaction for each device; returns how many. `book` does not depend on it."""
    return sum(_expire_on(device_id=device_id, now=now) for device_id in devices_with_lapsed_holds(now=now))


@db.transaction
def _expire_on(*, device_id: UUID, now: datetime) -> int:
    lock_device(device_id=device_id)
    with connection.cursor() as cursor:
        cursor.execute("SELECT allocator_lapse(%s, %s)", [device_id, now])
        lapsed: list[UUID] = cursor.fetchone()[0]
    announce_lapsed(lease_ids=lapsed, now=now, operator_tenant=settings.VXPU_OPERATOR_TENANT)
    return len(lapsed)
