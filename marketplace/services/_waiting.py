"""What is told of a wait: the constraint, the estimate, the end of patience."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from allocator import facade as allocator
from allocator.errors import FOR_GOOD
from marketplace import locks
from marketplace.models import Reservation, ReservationState
from marketplace.services._transition import SYSTEM, amend, move
from marketplace.services.news import tell_wait, wait_of
from plumbing import db
from plumbing.errors import DomainError

# Leases are being moved for this wish.
MAKING_ROOM = "making_room"
# What a wish no longer has once it is placed, or has had its turn in vain.
NO_PLAN: dict[str, object] = {"planned_device_id": None, "planned_start_at": None}
NO_WAIT: dict[str, object] = {
    "waits_for": "", "estimated_start_at": None, "estimated_start_by": None, "next_try_at": None, **NO_PLAN,
}  # fmt: skip


@db.transaction
def expire(*, reservation_id: UUID, now: datetime) -> None:
    row = locks.lock_reservation(reservation_id=reservation_id)
    if row.state == ReservationState.QUEUED:
        move(row, ReservationState.EXPIRED, actor=SYSTEM, reason="waited as long as it was told to", now=now,
             ended_at=now, end_reason="expired", **NO_PLAN)  # fmt: skip


def note_wait(seen: Reservation, told: Mapping[str, object]) -> None:
    """Nothing waits in silence. Writes only what differs from what was seen."""
    if seen.waits_for == MAKING_ROOM and allocator.is_room_made(owner=seen.pk):
        told = {**told, "waits_for": MAKING_ROOM}
    if any(getattr(seen, name) != value for name, value in told.items()):
        _write_wait(reservation_id=seen.pk, told=told)


@db.transaction
def _write_wait(*, reservation_id: UUID, told: Mapping[str, object]) -> None:
    row = locks.lock_reservation(reservation_id=reservation_id)
    if row.state == ReservationState.QUEUED:
        before = wait_of(row)
        amend(row, **told)
        if wait_of(row) != before:  # room that is kept is no news: it is the shop's affair
            tell_wait(row)


def main_constraint(refused: DomainError) -> str:
    """The constraint that it waits for, or the error's own code."""
    counts = refused.data.get("constraints")
    return most_of(counts) if isinstance(counts, dict) and counts else refused.code[:40]


def most_of(counts: Mapping[str, int]) -> str:
    """What rules out most devices: of those that may come free, if there are such."""
    names = sorted(counts.keys() - FOR_GOOD) or sorted(counts)
    return max(names, key=lambda name: counts[name])[:40] if names else ""


def free_at(refused: DomainError) -> datetime | None:
    at = refused.data.get("next_free_at")
    return at if isinstance(at, datetime) else None
