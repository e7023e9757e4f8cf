"""Another size while it runs: the allocator decides, the price stays the book's."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from allocator import facade as allocator
from allocator.errors import DoesNotFit
from billing import facade as billing
from marketplace import locks, selectors
from marketplace.errors import WrongState
from marketplace.models import Reach, Reservation, ReservationState
from marketplace.services import beside
from marketplace.services._quota import check_quota
from marketplace.services._transition import move
from marketplace.services.wish import refusal_of_change, size_of, slice_of
from plumbing import db
from vxpu.slices import Period

S = ReservationState
RESIZABLE = frozenset({S.CONFIRMED, S.ACTIVATING, S.ACTIVE})


@db.transaction
def resize(
    *, reach: Reach, reservation_id: UUID, memory_mib: int, share_permille: int, actor: str, now: datetime
) -> Reservation:
    """The same size again changes nothing. Raises DoesNotFit, QuotaExceeded, WrongState, WrongSize, NotFound."""
    return resize_within(
        reach=reach, reservation_id=reservation_id, memory_mib=memory_mib, share_permille=share_permille, actor=actor,
        now=now,
    )  # fmt: skip


@db.transaction_required
def resize_within(
    *, reach: Reach, reservation_id: UUID, memory_mib: int, share_permille: int, actor: str, now: datetime
) -> Reservation:
    """The same, in the transaction of a caller who writes more with it."""
    piece = size_of(memory_mib, share_permille)
    seen = selectors.get_reservation(reservation_id=reservation_id, reach=reach)
    rest = Period(starts_at=max(now, seen.starts_at), ends_at=end_after(seen, now=now))
    check_quota(
        tenant_id=seen.tenant_id, project_id=seen.project_id, piece=piece, period=rest, leave_out=seen.pk, is_new=False
    )
    row = locks.lock_reservation(reservation_id=reservation_id, reach=reach)
    state, lease_id = ReservationState(row.state), check_resizable(row)
    if slice_of(row) == piece:
        return row
    billing.authorize(account_id=row.account_id, now=now)
    said = f"{slice_of(row)} -> {piece}"
    move(row, S.RESIZING, actor=actor, reason=said, now=now)
    try:
        beside.check_resize(row, lease_id=lease_id, piece=piece, now=now)
        allocator.resize(lease_id=lease_id, slice=piece, now=now)
    except DoesNotFit as error:
        raise refusal_of_change(error) from error
    return move(
        row, state, actor=actor, reason=said, now=now, memory_mib=piece.memory_mib, share_permille=piece.share_permille
    )


def check_resizable(row: Reservation) -> UUID:
    """Its lease. Raises WrongState."""
    if row.state not in RESIZABLE or row.lease_id is None or row.released_at is not None:
        suggestion = "Only a confirmed or running one can be resized."
        raise WrongState(f"It is {row.state}.", suggestion=suggestion, state=row.state)
    return row.lease_id


def end_after(row: Reservation, *, now: datetime) -> datetime | None:
    if row.ends_at is not None and row.ends_at <= now:
        raise WrongState("Its booked end is past.", suggestion="Make a new reservation.", state=row.state)
    return row.ends_at
