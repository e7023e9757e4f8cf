"""Take the offer of an earlier start."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from allocator import facade as allocator
from allocator.errors import DoesNotFit
from billing import facade as billing
from marketplace import locks, selectors
from marketplace.errors import NothingEarlier, WrongState
from marketplace.models import Reach, Reservation, ReservationState
from marketplace.services import beside
from marketplace.services._booking import book_lease, replace_placement, take_lease
from marketplace.services._quota import check_quota
from marketplace.services._transition import move
from marketplace.services.offer_earlier import period_from
from marketplace.services.wish import slice_of, wish_again
from plumbing import db
from vxpu.market import LeaseView
from vxpu.slices import Period

S = ReservationState


@db.transaction
def start_earlier(*, reach: Reach, reservation_id: UUID, actor: str, now: datetime) -> Reservation:
    """Begin at the offered time (now, if none was offered) for the booked length, at the price of that time.

    The old booking is given back and the new one made in one transaction: if the new one does not fit, the old stands.
    Raises NothingEarlier (409), DoesNotFit, QuotaExceeded, NoPrice, WrongState, NotFound.
    """
    seen = selectors.get_reservation(reservation_id=reservation_id, reach=reach)
    _check_state(seen)
    period = _earlier_period(seen, now=now)
    check_quota(
        tenant_id=seen.tenant_id, project_id=seen.project_id, piece=slice_of(seen), period=period, leave_out=seen.pk,
        is_new=False,
    )  # fmt: skip
    row = locks.lock_reservation(reservation_id=reservation_id, reach=reach)
    _check_state(row)
    billing.authorize(account_id=row.account_id, now=now)
    said = f"from {period.starts_at.isoformat()} instead of {row.starts_at.isoformat()}"
    move(row, S.RESIZING, actor=actor, reason=said, now=now)
    lease = _rebook(row, period=period, now=now)
    device = allocator.get_device(device_id=lease.device_id)
    bound = take_lease(row, lease=lease, device=device)
    moved = move(row, S.CONFIRMED, actor=actor, reason=said, now=now, starts_at=period.starts_at,
                 ends_at=period.ends_at, earlier_start_at=None, **bound)  # fmt: skip
    replace_placement(moved, lease=lease, device=device, now=now)
    return moved


def _check_state(row: Reservation) -> None:
    if row.state != S.CONFIRMED or row.lease_id is None:
        raise WrongState(f"It is {row.state}.", suggestion="Only a confirmed one can start earlier.", state=row.state)


def _earlier_period(row: Reservation, *, now: datetime) -> Period:
    starts_at = max(now, row.earlier_start_at or now)
    if row.starts_at <= starts_at:
        raise NothingEarlier(f"It starts at {row.starts_at.isoformat()}.", suggestion="Wait for the booked start.")
    return period_from(row, starts_at=starts_at)


@db.transaction_required
def _rebook(row: Reservation, *, period: Period, now: datetime) -> LeaseView:
    if row.lease_id is None:
        raise WrongState("It has no lease.", state=row.state)
    allocator.release(lease_id=row.lease_id, reason="starts earlier", now=now)
    wish = wish_again(row, period=period)
    try:
        candidates = beside.propose(wish=wish, now=now)
        return book_lease(
            tenant_id=row.tenant_id, project_id=row.project_id, owner=row.pk, wish=wish, candidates=candidates, now=now
        )
    except DoesNotFit as error:
        ways = "Nothing changed: the booked start stands."
        raise DoesNotFit(error.detail, suggestion=ways, **error.data) from error
