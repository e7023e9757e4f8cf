"""The shop's part of a move: the reservation takes the new lease for the old one, and nothing else of it changes.

Until the switch the tenant has what he had, so the reservation stays `active`; `moving` is passed through in the
switch's own transaction, for the record. Id, price and booked period stay.
"""

from __future__ import annotations

import logging
from datetime import datetime
from uuid import UUID

from allocator import facade as allocator
from marketplace import locks
from marketplace.models import EVERYWHERE, Reservation, ReservationState
from marketplace.services._booking import replace_placement
from marketplace.services._transition import SYSTEM, move
from plumbing import db
from plumbing.errors import DomainError
from vxpu.market import MoveView

log = logging.getLogger(__name__)
S = ReservationState
# `moving` here is a lost lease that waits for another one: a successor that is ready is that.
FROM = frozenset({S.ACTIVE, S.MOVING})


def switch_ready(*, now: datetime) -> int:
    """Every move that is ready for it; returns how many were switched. One move's trouble does not stop the others."""
    done = 0
    for seen in allocator.list_moves_to_switch():
        try:
            done += switch(move_id=seen.id, now=now)
        except DomainError:
            log.exception("Move %s: not switched", seen.id)
    return done


def switch(*, move_id: UUID, now: datetime) -> bool:
    """True if it was done now. What cannot be switched any more ends the move; what is early is tried again."""
    try:
        return _switch(move_id=move_id, now=now)
    except allocator.MoveChanged:
        return False
    except allocator.CannotMove as error:
        _fail(move_id=move_id, reason=error.detail, now=now)
        return False


@db.transaction
def _switch(*, move_id: UUID, now: datetime) -> bool:
    seen = allocator.get_move(move_id=move_id)
    if not EVERYWHERE.rows().filter(pk=seen.owner).exists():
        raise allocator.CannotMove("the lease is no reservation's")
    row = locks.lock_reservation(reservation_id=seen.owner)
    if row.state not in FROM or row.released_at is not None or row.lease_id != seen.lease_id:
        raise allocator.CannotMove(f"the reservation is {row.state}")
    done = allocator.switch_move(move_id=move_id, now=now)
    _take_over(row, done, now=now)
    return True


@db.transaction_required
def _take_over(row: Reservation, done: MoveView, *, now: datetime) -> None:
    if done.successor_id is None or done.switched_at is None:
        raise allocator.CannotMove("it was not switched")
    lease = allocator.get_lease(lease_id=done.successor_id)
    device = allocator.get_device(device_id=lease.device_id)
    if row.state != S.MOVING:
        move(row, S.MOVING, actor=SYSTEM, reason=f"moved: {done.reason}", now=now)
    move(row, S.ACTIVE, actor=SYSTEM, reason=f"moved to another device, hook {done.hook_result}", now=now,
         lease_id=lease.id, device_id=lease.device_id)  # fmt: skip
    replace_placement(row, lease=lease, device=device, now=done.switched_at)


@db.transaction
def _fail(*, move_id: UUID, reason: str, now: datetime) -> None:
    allocator.fail_move(move_id=move_id, reason=reason, now=now)
