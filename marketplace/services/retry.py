"""A wish whose tries fail: it waits longer each time, says why, holds nothing, and keeps its seniority."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import F

from marketplace import locks
from marketplace.matching.chance import delay_s
from marketplace.models import Placement, Reservation, ReservationState
from marketplace.services._transition import SYSTEM, amend, move
from marketplace.services._waiting import NO_PLAN
from marketplace.services.news import tell_wait
from plumbing import db
from vxpu.market import LeaseView

ACTIVATION_FAILED = "activation_failed"
# A wish that was granted in time does not expire because its slice failed.
PATIENCE = timedelta(hours=24)


def next_try(attempts: int, *, now: datetime) -> datetime:
    delay = delay_s(attempts, first_s=settings.VXPU_RETRY_FIRST_S, most_s=settings.VXPU_RETRY_MOST_S)
    return now + timedelta(seconds=delay)


def back_off(*, reservation_ids: Sequence[UUID], reason: str, now: datetime) -> None:
    """A try failed: the next one comes later than the last time."""
    for reservation_id in sorted(reservation_ids):
        _back_off_one(reservation_id=reservation_id, reason=reason, now=now)


@db.transaction
def _back_off_one(*, reservation_id: UUID, reason: str, now: datetime) -> None:
    row = locks.lock_reservation(reservation_id=reservation_id)
    if row.state == ReservationState.QUEUED:
        attempts = row.attempts + 1
        amend(row, attempts=attempts, next_try_at=next_try(attempts, now=now), waits_for=reason, **NO_PLAN)
        tell_wait(row)


def may_try_again(row: Reservation, lease: LeaseView) -> bool:
    """A slice that never ran, of a wish that had waited in line, which nobody gave back and whose time is not over. A
    member of a gang is no wish of its own."""
    was_queued = row.queued_until is not None and row.gang_id is None
    is_over = row.ends_at is not None and lease.ended_at is not None and lease.ended_at >= row.ends_at
    return was_queued and lease.ready_at is None and row.released_at is None and not is_over


@db.transaction_required
def queue_again(row: Reservation, *, reason: str, now: datetime) -> bool:
    """ACTIVATING -> QUEUED with back-off; False if it has had as many leases as it may have. `row` is locked."""
    if Placement.objects.filter(reservation=row).count() >= settings.VXPU_ACTIVATION_TRIES:
        return False
    attempts = row.attempts + 1
    # Time of a slice that never was is nobody's.
    Placement.objects.filter(reservation=row, is_current=True).update(is_current=False, booked_until=F("booked_from"))
    move(
        row, ReservationState.QUEUED, actor=SYSTEM, reason=f"try {attempts} failed: {reason}", now=now,
        attempts=attempts, next_try_at=next_try(attempts, now=now), waits_for=ACTIVATION_FAILED, lease_id=None,
        device_id=None, estimated_start_at=None, estimated_start_by=None,
        queued_until=max(row.queued_until or now, now + PATIENCE), **NO_PLAN,
    )  # fmt: skip
    return True
