"""A later end, or none."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from allocator import facade as allocator
from allocator.errors import DoesNotFit
from billing import facade as billing
from marketplace import locks, selectors
from marketplace.errors import WrongPeriod, WrongState
from marketplace.models import Reach, Reservation, ReservationState
from marketplace.services import beside
from marketplace.services._quota import check_quota
from marketplace.services._transition import move
from marketplace.services.wish import HORIZON, refusal_of_change, slice_of
from plumbing import db
from vxpu.slices import Period

S = ReservationState
EXTENDABLE = frozenset({S.CONFIRMED, S.ACTIVATING, S.ACTIVE})


@db.transaction
def extend(*, reach: Reach, reservation_id: UUID, ends_at: datetime | None, actor: str, now: datetime) -> Reservation:
    """`ends_at` None is open-ended; an open-ended one may get an end. The same end again changes nothing.

    Raises DoesNotFit, QuotaExceeded, WrongPeriod (an earlier end is a release), WrongState, NotFound.
    """
    seen = selectors.get_reservation(reservation_id=reservation_id, reach=reach)
    check_end(seen, ends_at=ends_at, now=now)
    period = Period(starts_at=max(now, seen.starts_at), ends_at=ends_at)
    check_quota(
        tenant_id=seen.tenant_id, project_id=seen.project_id, piece=slice_of(seen), period=period, leave_out=seen.pk,
        is_new=False,
    )  # fmt: skip
    row = locks.lock_reservation(reservation_id=reservation_id, reach=reach)
    lease_id = check_extendable(row)
    check_end(row, ends_at=ends_at, now=now)
    if row.ends_at == ends_at:
        return row
    billing.authorize(account_id=row.account_id, now=now)
    state, said = ReservationState(row.state), f"until {ends_at.isoformat() if ends_at else 'further notice'}"
    move(row, S.RESIZING, actor=actor, reason=said, now=now)
    try:
        beside.check_end(row, lease_id=lease_id, ends_at=ends_at, now=now)
        allocator.set_end(lease_id=lease_id, ends_at=ends_at, now=now)
    except DoesNotFit as error:
        raise refusal_of_change(error) from error
    return move(row, state, actor=actor, reason=said, now=now, ends_at=ends_at)


def check_extendable(row: Reservation) -> UUID:
    """Its lease. Raises WrongState."""
    if row.state not in EXTENDABLE or row.lease_id is None or row.released_at is not None:
        raise WrongState(f"It is {row.state}.", suggestion="Make a new reservation.", state=row.state)
    return row.lease_id


def check_end(row: Reservation, *, ends_at: datetime | None, now: datetime) -> None:
    if row.ends_at is not None and row.ends_at <= now:
        raise WrongState("Its booked end is past.", suggestion="Make a new reservation.", state=row.state)
    if ends_at is None:
        return
    if ends_at <= max(now, row.starts_at) or ends_at > now + HORIZON:
        raise WrongPeriod("ends_at must be ahead, and at most three years.", suggestion="Choose another end.")
    if row.ends_at is not None and ends_at < row.ends_at:
        raise WrongPeriod("That is earlier than the booked end.", suggestion="Release it when you are done.")
