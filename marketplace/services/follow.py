"""Bring a reservation to where its lease is. Events only say when to look; what counts is how the lease stands now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from allocator import facade as allocator
from marketplace import locks
from marketplace.models import TAKES_CAPACITY, Reservation, ReservationState
from marketplace.services import retry
from marketplace.services._evictions import note_evicted
from marketplace.services._transition import SYSTEM, move, move_alike
from plumbing import db
from vxpu.market import LeaseView
from vxpu.states import LeaseState

S = ReservationState

# The way on, one step at a time: whoever missed an event walks through every state that it passed.
_ONWARD: dict[ReservationState, dict[ReservationState, ReservationState]] = {
    S.ACTIVATING: {S.CONFIRMED: S.ACTIVATING, S.MOVING: S.ACTIVATING},
    S.ACTIVE: {S.CONFIRMED: S.ACTIVATING, S.ACTIVATING: S.ACTIVE, S.MOVING: S.ACTIVE, S.SUSPENDED: S.ACTIVE},
    S.SUSPENDED: {S.CONFIRMED: S.ACTIVATING, S.ACTIVATING: S.ACTIVE, S.MOVING: S.ACTIVE, S.ACTIVE: S.SUSPENDED},
    S.ENDING: {
        S.CONFIRMED: S.ACTIVATING, S.ACTIVATING: S.ENDING, S.ACTIVE: S.ENDING, S.SUSPENDED: S.ENDING,
        S.PREEMPTING: S.ENDING, S.MOVING: S.ENDING,
    },
    S.COMPLETED: {
        S.CONFIRMED: S.ACTIVATING, S.ACTIVATING: S.ENDING, S.ACTIVE: S.ENDING, S.SUSPENDED: S.ENDING,
        S.PREEMPTING: S.ENDING, S.MOVING: S.ENDING, S.ENDING: S.COMPLETED,
    },
    S.PREEMPTED: {S.PREEMPTING: S.PREEMPTED},
    # A slice that never ran, of a wish that had waited in line: it waits again.
    S.QUEUED: {S.CONFIRMED: S.ACTIVATING, S.ACTIVATING: S.QUEUED},
    S.MOVING: {
        S.CONFIRMED: S.MOVING, S.ACTIVATING: S.MOVING, S.ACTIVE: S.MOVING, S.SUSPENDED: S.MOVING,
        S.ENDING: S.FAILED, S.PREEMPTING: S.FAILED,
    },
}  # fmt: skip


@db.transaction
def follow(*, reservation_id: UUID, now: datetime) -> bool:
    """True if something changed. Harmless to repeat, in any order."""
    row = locks.lock_reservation(reservation_id=reservation_id)
    if row.state not in TAKES_CAPACITY or row.lease_id is None:
        return False
    lease = allocator.get_lease(lease_id=row.lease_id)
    target, reason = where_it_is(row, lease, now=now)
    return target is not None and walk(row, target, lease=lease, reason=reason, now=now)


# What most reservations need, and need together: from the booking to the slice that is ready.
BEGINS = frozenset({S.CONFIRMED, S.ACTIVATING})
BEGUN = frozenset({S.ACTIVATING, S.ACTIVE})


@db.transaction
def follow_begun(*, reservation_ids: Collection[UUID], now: datetime) -> int:
    """`follow` for many that only begin, a statement for each step; returns how many moved. Others are left alone."""
    rows = [row for row in locks.lock_reservations(reservation_ids=reservation_ids) if row.state in BEGINS]
    leases = {lease.id: lease for lease in allocator.list_leases(owners=[row.pk for row in rows])}
    alike: dict[tuple[ReservationState, ReservationState, str], list[Reservation]] = defaultdict(list)
    for row in rows:
        if row.lease_id in leases:
            target, reason = where_it_is(row, leases[row.lease_id], now=now)
            if target in BEGUN and target != row.state:
                alike[ReservationState(row.state), target, reason].append(row)
    for (state, target, reason), group in alike.items():
        if state == S.CONFIRMED:
            move_alike(group, S.ACTIVATING, actor=SYSTEM, reason=reason, now=now, earlier_start_at=None)
        if target == S.ACTIVE:
            move_alike(group, S.ACTIVE, actor=SYSTEM, reason=reason, now=now)
    return sum(len(group) for group in alike.values())


def where_it_is(row: Reservation, lease: LeaseView, *, now: datetime) -> tuple[ReservationState | None, str]:
    """The state that the lease stands for, and why; None for "no news"."""
    if row.state == S.PREEMPTING and row.released_at is None and not _lasted(row, lease):
        return (None, "") if lease.is_live else (S.PREEMPTED, "its place went to another")
    if lease.state == LeaseState.GONE or (lease.state == LeaseState.LOST and _was_to_end(row, lease)):
        return _how_it_ended(row, lease)
    is_over = row.ends_at is not None and row.ends_at <= now
    facts: list[tuple[bool, ReservationState, str]] = [
        (lease.state == LeaseState.LOST, S.MOVING, lease.end_reason or "the node was lost"),
        (row.released_at is not None, S.ENDING, "released"),
        (is_over, S.ENDING, "the booked end was reached"),
        (lease.state == LeaseState.SUSPENDED, S.SUSPENDED, "the lease is suspended"),
        (lease.ready_at is not None, S.ACTIVE, "the slice is ready"),
        (row.starts_at <= now and row.state == S.CONFIRMED, S.ACTIVATING, "the booked start was reached"),
    ]
    return next(((state, reason) for holds, state, reason in facts if holds), (None, ""))


def _lasted(row: Reservation, lease: LeaseView) -> bool:
    """Its own end comes no later than the notice's."""
    ends_at = lease.ended_at or lease.period.ends_at
    return row.ends_at is not None and ends_at is not None and row.ends_at <= ends_at


def _was_to_end(row: Reservation, lease: LeaseView) -> bool:
    """Released, or lost only after its booked end: nobody wants another place for it."""
    over = row.ends_at is not None and lease.ended_at is not None and lease.ended_at >= row.ends_at
    return row.released_at is not None or over


def _how_it_ended(row: Reservation, lease: LeaseView) -> tuple[ReservationState, str]:
    """As ordered (released, or at its booked end) is completed; anything else is a failure of ours."""
    ended_at = lease.ended_at
    in_time = row.ends_at is not None and ended_at is not None and ended_at >= row.ends_at
    if row.released_at is not None or (in_time and lease.ready_at is not None):
        return S.COMPLETED, lease.end_reason or "ended"
    if retry.may_try_again(row, lease):
        return S.QUEUED, lease.end_reason or "the slice ended by itself"
    return S.FAILED, lease.end_reason or "the slice ended by itself"


@db.transaction_required
def walk(row: Reservation, target: ReservationState, *, lease: LeaseView, reason: str, now: datetime) -> bool:
    """Step by step to `target`, one transition each; False when there already, or when no way leads there."""
    moved = False
    while row.state != target:
        state = ReservationState(row.state)
        lost = target == S.FAILED or (target == S.QUEUED and state not in _ONWARD[S.QUEUED])
        step = S.FAILED if lost else _ONWARD[target].get(state)
        if step is None:
            return moved
        if state == S.ACTIVATING and step == S.ENDING and lease.ready_at is not None:
            step = S.ACTIVE  # it ran, even if nobody told us in time
        if step == S.QUEUED:
            if retry.queue_again(row, reason=reason, now=now):
                return True
            target = step = S.FAILED
        changes: dict[str, Any] = {}
        if step in {S.COMPLETED, S.FAILED}:
            changes = {"ended_at": lease.ended_at or now, "end_reason": reason[:80]}
        if step == S.ACTIVATING:
            changes["earlier_start_at"] = None
        move(row, step, actor=SYSTEM, reason=reason, now=now, **changes)
        if step == S.PREEMPTED:
            note_evicted(row, lease=lease, now=now)
        moved = True
    return moved
