"""Buy a slice: search on a snapshot, decide in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from allocator import facade as allocator
from allocator.errors import DoesNotFit
from billing import facade as billing
from identity import facade as identity
from marketplace.events import ReservationConfirmed
from marketplace.models import EVERYWHERE, Reach, ReservationState
from marketplace.services import queue
from marketplace.services._booking import Terms, book_lease, draft_of, note_placement, take_lease
from marketplace.services._quota import check_quota
from marketplace.services.show import Shown, show_one
from marketplace.services.wish import Order, refusal, wish_of
from plumbing import db, outbox
from plumbing.errors import Forbidden
from vxpu.ids import new_uuid
from vxpu.market import Candidate

# The snapshot may be stale by the time of booking; then it is taken anew, this many times in all.
TRIES = 3


def reserve(*, order: Order, requested_by: UUID, actor: str, now: datetime, reach: Reach = EVERYWHERE) -> Shown:
    """A confirmed reservation, or a queued one if `order.queue` and nothing fits now.

    Raises DoesNotFit (409 with constraints, next_free_at, nearest), QuotaExceeded, NoPrice, WrongSize, WrongPeriod,
    WrongChoice, OfferClosed, NotFound, Forbidden (a project out of `reach`), and billing's NoAccount and the like.
    """
    identity.get_project(tenant_id=order.tenant_id, project_id=order.project_id)
    if reach.project_ids is not None and order.project_id not in reach.project_ids:
        raise Forbidden("You are not a member of that project.", suggestion="See your projects at /api/v1/me.")
    terms = _read(order=order, requested_by=requested_by, actor=actor, now=now)
    try:
        return _place(terms=terms, now=now)
    except DoesNotFit as error:
        if not order.queue:
            raise refusal(error) from error
        return show_one(queue.enqueue(terms=terms, refused=error, now=now))


def _read(*, order: Order, requested_by: UUID, actor: str, now: datetime) -> Terms:
    wish, offer = wish_of(order, now=now)
    account = billing.get_account(tenant_id=order.tenant_id)
    return Terms(
        order=order, wish=wish, offer=offer, account_id=account.id, currency=account.currency,
        requested_by=requested_by, actor=actor,
    )  # fmt: skip


def _place(*, terms: Terms, now: datetime) -> Shown:
    for attempt in range(1, TRIES + 1):
        candidates = allocator.propose(wish=terms.wish, now=now)
        try:
            return _book(terms=terms, candidates=candidates, now=now)
        except DoesNotFit:
            if attempt == TRIES:
                raise
    raise AssertionError("unreachable")


@db.transaction
def _book(*, terms: Terms, candidates: Sequence[Candidate], now: datetime) -> Shown:
    order, wish = terms.order, terms.wish
    check_quota(
        tenant_id=order.tenant_id, project_id=order.project_id, piece=wish.slice, period=wish.period, is_new=True
    )
    billing.authorize(account_id=terms.account_id, now=now)
    reservation_id = new_uuid()
    lease = book_lease(
        tenant_id=order.tenant_id, project_id=order.project_id, owner=reservation_id, wish=wish, candidates=candidates,
        now=now,
    )  # fmt: skip
    reservation = draft_of(terms, now=now)
    reservation.id = reservation_id
    reservation.state = ReservationState.CONFIRMED
    reservation.change_reason = "booked"
    device = allocator.get_device(device_id=lease.device_id)
    take_lease(reservation, lease=lease, device=device)
    reservation.save(force_insert=True)
    note_placement(reservation, lease=lease, device=device, now=now)
    outbox.publish(ReservationConfirmed(tenant_id=order.tenant_id, reservation_id=reservation_id, at=now))
    return Shown(row=reservation, lease=lease, position=None)
