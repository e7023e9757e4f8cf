"""A wish that waits because nothing fits may have room made for it by moves of running leases, where that is allowed.

It stays in the queue as `making_room` until the plan is done; then it takes what the plan holds for it, for no other.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from allocator import facade as allocator
from billing import facade as billing
from marketplace import locks, selectors
from marketplace.events import ReservationConfirmed
from marketplace.models import Reservation, ReservationState, Together
from marketplace.services._booking import note_placement, take_lease
from marketplace.services._quota import check_quota
from marketplace.services._transition import SYSTEM, amend, move
from marketplace.services._waiting import MAKING_ROOM, NO_WAIT
from marketplace.services.news import tell_wait
from marketplace.services.wish import period_now, slice_of, wish_again
from plumbing import db, outbox
from plumbing.errors import DomainError
from vxpu.market import RoomView
from vxpu.slices import Period, Slice

log = logging.getLogger(__name__)
S = ReservationState
# Each look costs a search over the fleet; the next run sees the next wishes.
LOOKS = 4
REST = timedelta(minutes=5)


def make_room(*, now: datetime) -> int:
    """Everything about room, as far as it goes now; returns how many wishes were given theirs."""
    done = 0
    rooms = allocator.list_rooms()
    for room in rooms:
        done += _tend(room, now=now)
    if allocator.is_room_made_anywhere():
        _begin(busy={owner for room in rooms for owner in room.owners}, now=now)
    return done


def _tend(room: RoomView, *, now: datetime) -> int:
    try:
        if room.leases:
            return _claim(room, now=now)
        _check_wanted(room, now=now)
    except DomainError as error:
        log.warning("Room %s: given back: %s", room.plan_id, error.detail)
        _give_back(room, reason=error.detail, now=now)
    return 0


@db.transaction
def _claim(room: RoomView, *, now: datetime) -> int:
    """QUEUED -> CONFIRMED with the held lease, all of them or none. Raises what a purchase raises."""
    first = selectors.get_reservation(reservation_id=room.owners[0])
    _check(first, piece=slice_of(first), period=period_now(first, now=now))  # locks the quota before the reservations
    rows = _lock(room)
    billing.authorize(account_id=first.account_id, now=now)
    for row in rows:
        lease = allocator.confirm(lease_id=room.leases[row.pk], now=now)
        _check(row, piece=lease.slice, period=lease.period)
        device = allocator.get_device(device_id=lease.device_id)
        bound = take_lease(row, lease=lease, device=device)
        move(
            row, S.CONFIRMED, actor=SYSTEM, reason="room was made", now=now, starts_at=lease.period.starts_at,
            ends_at=lease.period.ends_at, **NO_WAIT, **bound,
        )  # fmt: skip
        note_placement(row, lease=lease, device=device, now=now)
        outbox.publish(ReservationConfirmed(tenant_id=row.tenant_id, reservation_id=row.pk, at=now))
    allocator.end_room(plan_id=room.plan_id, is_taken=True, reason="", now=now)
    return len(rows)


@db.transaction_required
def _check(row: Reservation, *, piece: Slice, period: Period) -> None:
    check_quota(tenant_id=row.tenant_id, project_id=row.project_id, piece=piece, period=period, is_new=False)


@db.transaction
def _check_wanted(room: RoomView, *, now: datetime) -> None:  # noqa: ARG001 - as the others
    """Raises WrongState for a wish that waits no more."""
    _lock(room)


def _lock(room: RoomView) -> list[Reservation]:
    rows = [locks.lock_reservation(reservation_id=owner) for owner in sorted(room.owners)]
    for row in rows:
        if row.state != S.QUEUED:
            raise allocator.CannotMove(f"The wish is {row.state}: it does not wait any more.")
    return rows


@db.transaction
def _give_back(room: RoomView, *, reason: str, now: datetime) -> None:
    allocator.end_room(plan_id=room.plan_id, is_taken=False, reason=reason, now=now)


def _begin(*, busy: set[UUID], now: datetime) -> None:
    looks = 0
    for row in list(selectors.list_queued()):
        wishers = _together(row)
        if not wishers or row.starts_at > now or busy & {one.pk for one in wishers} or row.wanted_device_id is not None:
            continue
        if allocator.room_failed_since(owner=row.pk, since=now - REST):
            continue
        busy |= {one.pk for one in wishers}
        looks += 1
        _begin_one(wishers, now=now)
        if looks == LOOKS:
            return


def _together(row: Reservation) -> list[Reservation]:
    """Itself; of a gang on one node all members, once. Empty for a gang of another sort: room is made on one node."""
    if row.gang is None:
        return [row]
    members = list(Reservation.objects.filter(gang=row.gang).order_by("gang_rank"))
    waiting = all(one.state == S.QUEUED for one in members)
    return members if row.gang.together == Together.NODE and waiting and members[0].pk == row.pk else []


def _begin_one(rows: Sequence[Reservation], *, now: datetime) -> None:
    wish = wish_again(rows[0], period=period_now(rows[0], now=now))
    owners = [row.pk for row in rows]
    try:
        allocator.start_room(wish=wish, owners=owners, tenant_id=rows[0].tenant_id, now=now)
    except allocator.NothingToMove:
        return  # it waits for what it waited for
    except DomainError as error:  # such as a pool that is no more: that wish's trouble, the next may have its room
        log.warning("Queued %s: no room is made: %s", rows[0].pk, error.detail)
        return
    for row in rows:
        _note_waiting(reservation_id=row.pk)


@db.transaction
def _note_waiting(*, reservation_id: UUID) -> None:
    row = locks.lock_reservation(reservation_id=reservation_id)
    if row.state == S.QUEUED:
        amend(row, waits_for=MAKING_ROOM)
        tell_wait(row)
