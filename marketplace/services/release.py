"""Give a slice back early, or take a booking or a wish back."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from allocator import facade as allocator
from marketplace import locks
from marketplace.models import ENDED, Reach, Reservation, ReservationState
from marketplace.services._transition import amend, move
from marketplace.services.follow import walk
from plumbing import db

S = ReservationState
NOT_BEGUN = frozenset({S.HELD, S.AWAITING_APPROVAL, S.CONFIRMED, S.ACTIVATING})
REASON = "released"


@db.transaction
def release(*, reach: Reach, reservation_id: UUID, actor: str, now: datetime) -> Reservation:
    """Idempotent: what has ended, or is ending, is answered as it is. Raises NotFound.

    The booked end stays as booked: the rest of the time is shown as reserved and not delivered.
    """
    row = locks.lock_reservation(reservation_id=reservation_id, reach=reach)
    if row.state in ENDED or row.released_at is not None:
        return row
    if row.lease_id is None or row.state == S.PREEMPTED:
        return move(row, S.CANCELLED, actor=actor, reason=REASON, now=now, ended_at=now, end_reason=REASON)
    lease = allocator.release(lease_id=row.lease_id, reason=REASON, now=now)
    if row.state in NOT_BEGUN and (row.starts_at > now or (not lease.is_live and lease.ready_at is None)):
        ends = {"ended_at": now, "end_reason": REASON, "released_at": now, "earlier_start_at": None}
        return move(row, S.CANCELLED, actor=actor, reason=REASON, now=now, **ends)
    amend(row, released_at=now, earlier_start_at=None)
    if row.state == S.CONFIRMED:
        move(row, S.ACTIVATING, actor=actor, reason="the booked start was reached", now=now)
    if row.state != S.ENDING:
        move(row, S.ENDING, actor=actor, reason=REASON, now=now)
    if not lease.is_live:
        walk(row, S.COMPLETED, lease=lease, reason=REASON, now=now)
    return row
