"""How a pre-emption ends: the victim goes back in line with its seniority, or is spared because nobody needs its place.

Called by the reconciler, and again after a crash: each step looks at the row under its lock first.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from allocator import facade as allocator
from allocator.errors import DoesNotFit, LeaseLost
from marketplace import locks, selectors
from marketplace.errors import QuotaExceeded, QuotaMoved
from marketplace.models import EVERYWHERE, TAKES_CAPACITY, Reservation, ReservationState
from marketplace.services import queue
from marketplace.services._evictions import last_notice, note_spared
from marketplace.services._quota import check_quota
from marketplace.services._transition import SYSTEM, amend, move
from marketplace.services.wish import slice_of
from plumbing import db
from vxpu.slices import Period

S = ReservationState


@db.transaction
def requeue(*, reservation_id: UUID, now: datetime) -> bool:
    """PREEMPTED -> QUEUED for the rest of its booked time, at the place in line that its age gives it."""
    row = locks.lock_reservation(reservation_id=reservation_id)
    if row.state != S.PREEMPTED:
        return False
    last = row.placements.order_by("-created_at", "-id").first()
    left_at = now if last is None or last.booked_until is None else last.booked_until
    move(
        row, S.QUEUED, actor=SYSTEM, reason="waits for the rest of its time", now=now, lease_id=None, device_id=None,
        starts_at=left_at, queued_until=now + queue.PATIENCE, waits_for="preempted", notice_at=None, evict_at=None,
        evictions=row.evictions + 1, estimated_start_at=None,
    )  # fmt: skip
    return True


def spare(*, reservation_id: UUID, now: datetime) -> bool:
    """PREEMPTING -> ACTIVE when the pre-emptor ended before the notice's end, and nobody took the room or the quota
    since."""
    try:
        return _spare(reservation_id=reservation_id, now=now)
    except (DoesNotFit, LeaseLost, QuotaExceeded, QuotaMoved):
        return False


@db.transaction
def _spare(*, reservation_id: UUID, now: datetime) -> bool:
    notice, seen = last_notice(reservation_id), selectors.get_reservation(reservation_id=reservation_id)
    if notice is None or seen.state != S.PREEMPTING or _still_wants(notice.for_id):
        return False
    check_quota(
        tenant_id=seen.tenant_id, project_id=seen.project_id, piece=slice_of(seen), leave_out=seen.pk, is_new=False,
        period=Period(starts_at=now, ends_at=seen.ends_at),
    )  # fmt: skip
    row = locks.lock_reservation(reservation_id=reservation_id)
    if row.state != S.PREEMPTING or row.lease_id is None or row.notice_at is None or row.released_at is not None:
        return False
    told_at = row.notice_at
    lease = allocator.withdraw_notice(lease_id=row.lease_id, ends_at=row.ends_at, now=now)
    move(row, S.ACTIVE, actor=SYSTEM, reason="its place is not needed", now=now, notice_at=None, evict_at=None)
    note_spared(row, notice=notice, lease=lease, now=now)
    if row.rated_through is not None and row.rated_through > told_at:  # what was free is charged after all
        amend(row, rated_through=told_at)
    return True


def _still_wants(reservation_id: UUID) -> bool:
    """Once ended, or back in line, a reservation never comes back to this room: no lock is needed."""
    row = Reservation.objects.filter(pk=reservation_id).first()
    return row is not None and row.state in TAKES_CAPACITY and row.released_at is None


def list_victims(*, for_id: UUID) -> list[UUID]:
    """Reservations that were told to go for this one, and still run."""
    rows = EVERYWHERE.rows().filter(state=S.PREEMPTING, eviction_rows__for_id=for_id)
    return sorted(set(rows.values_list("pk", flat=True)))
