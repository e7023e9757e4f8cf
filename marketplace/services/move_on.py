"""A lost lease: the reservation keeps its place in the books and its price, and gets another device."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from allocator import facade as allocator
from allocator.errors import DoesNotFit
from marketplace import locks
from marketplace.models import Reservation, ReservationState
from marketplace.services import gang_fail_over
from marketplace.services._booking import book_lease, replace_placement
from marketplace.services._quota import lock_quotas
from marketplace.services._relocation import is_wanted, wish_from_now
from marketplace.services._transition import SYSTEM, move
from marketplace.services.news import tell
from plumbing import db

S = ReservationState


def move_on(*, reservation_id: UUID, now: datetime) -> bool:
    """True if the reservation got another lease. Without room it waits, until its booked end; so does a member of a
    gang without room for all that were lost."""
    try:
        waits = Reservation.objects.filter(pk=reservation_id, state=S.MOVING, gang__isnull=False).first()
        gang_id = None if waits is None else gang_fail_over.list_together([waits]).get(waits.pk)
        if waits is not None and gang_id is not None and is_wanted(waits, now=now):
            return _move_gang_on(waits.pk, gang_id, now=now)
        return _move_on(reservation_id=reservation_id, now=now)
    except DoesNotFit:
        return False


def _move_gang_on(reservation_id: UUID, gang_id: UUID, *, now: datetime) -> bool:
    placed = gang_fail_over.place_lost(gang_id=gang_id, now=now)
    for row in placed.values():
        tell(row)
    return reservation_id in placed


@db.transaction
def _move_on(*, reservation_id: UUID, now: datetime) -> bool:
    seen = Reservation.objects.get(pk=reservation_id)
    if seen.state != S.MOVING:
        return False
    # The other device may be a larger one, which the quota has to allow: its rows come before the reservation.
    lock_quotas(tenant_id=seen.tenant_id)
    row = locks.lock_reservation(reservation_id=reservation_id)
    if row.state != S.MOVING or row.lease_id is None or allocator.get_lease(lease_id=row.lease_id).is_live:
        return False
    if row.released_at is not None or (row.ends_at is not None and row.ends_at <= now):
        move(row, S.FAILED, actor=SYSTEM, reason="no other device before its end", now=now, ended_at=now,
             end_reason="node lost")  # fmt: skip
        return False
    _place_anew(row, now=now)
    return True


@db.transaction_required
def _place_anew(row: Reservation, *, now: datetime) -> None:
    wish = wish_from_now(row, now=now)
    candidates = allocator.propose(wish=wish, now=now)
    lease = book_lease(
        tenant_id=row.tenant_id, project_id=row.project_id, owner=row.pk, wish=wish, candidates=candidates, now=now
    )
    back_to = S.CONFIRMED if row.starts_at > now else S.ACTIVATING
    move(row, back_to, actor=SYSTEM, reason="placed on another device", now=now, lease_id=lease.id,
         device_id=lease.device_id)  # fmt: skip
    device = allocator.get_device(device_id=lease.device_id)
    replace_placement(row, lease=lease, device=device, now=now, candidates=candidates)
