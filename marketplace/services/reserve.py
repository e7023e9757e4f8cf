"""Buy a slice: search on a snapshot, decide in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from allocator import facade as allocator
from allocator.errors import DoesNotFit
from billing import facade as billing
from marketplace.errors import QuotaExceeded, QuoteExpired, WrongPeriod
from marketplace.events import ReservationConfirmed
from marketplace.models import EVERYWHERE, Placement, Quote, Reach, Reservation, ReservationState
from marketplace.services import beside, queue, quote
from marketplace.services._booking import Terms, book_lease, draft_of, note_placement, take_lease
from marketplace.services._quota import check_quota, may_wait
from marketplace.services.evaluate import Evaluation, read_terms
from marketplace.services.news import tell
from marketplace.services.show import Shown, show_booked, show_one
from marketplace.services.wish import Order, refusal
from plumbing import db, outbox
from vxpu.ids import new_uuid
from vxpu.market import Candidate, LeaseView

# The snapshot may be stale by the time of booking; then it is taken anew, this many times in all.
TRIES = 3


def reserve(
    *, order: Order, requested_by: UUID, actor: str, now: datetime, reach: Reach = EVERYWHERE, name: str = ""
) -> Shown:
    """A confirmed reservation, or a queued one if `order.queue`, nothing fits now and waiting may help.

    Raises DoesNotFit (409 with constraints, next_free_at, nearest, alternatives), QuotaExceeded, NoPrice, and as
    `read_terms` does for bad input.
    """
    terms = read_terms(order=order, requested_by=requested_by, actor=actor, reach=reach, now=now, name=name)
    try:
        return show_booked(*_place(terms=terms, now=now), now=now)
    except DoesNotFit as error:
        if not (order.queue and error.may_come_free):
            raise refusal(error) from error
        return show_one(queue.enqueue(terms=terms, refused=error, now=now), now=now)
    except QuotaExceeded as error:
        if not order.queue or not may_wait(error):
            raise
        return show_one(queue.enqueue(terms=terms, refused=error, now=now), now=now)


def buy_quoted(
    *, quote_id: UUID, requested_by: UUID, actor: str, now: datetime, reach: Reach = EVERYWHERE, name: str = ""
) -> Shown:
    """What was quoted, at the quoted price, once. Raises as `reserve`, and QuoteUsed, QuoteRefused, QuoteExpired."""
    try:
        terms = quote.terms_of(
            quote_id=quote_id, requested_by=requested_by, actor=actor, name=name, reach=reach, now=now
        )
        return show_booked(*_place(terms=terms, now=now), now=now)
    except QuoteExpired as error:
        error.fresh = _fresh(quote_id, requested_by=requested_by, actor=actor, reach=reach, now=now)
        raise
    except DoesNotFit as error:
        raise refusal(error) from error


def _fresh(quote_id: UUID, *, requested_by: UUID, actor: str, reach: Reach, now: datetime) -> Evaluation | None:
    try:
        return quote.terms_now(quote_id=quote_id, requested_by=requested_by, actor=actor, reach=reach, now=now)
    except WrongPeriod:  # its end has passed meanwhile: there are no terms for it any more
        return None


def _place(*, terms: Terms, now: datetime) -> tuple[Reservation, LeaseView, Placement]:
    for attempt in range(1, TRIES + 1):
        candidates = _candidates(terms, now=now)
        try:
            return _book(terms=terms, candidates=candidates, now=now)
        except DoesNotFit:
            if attempt == TRIES:
                raise
    raise AssertionError("unreachable")


def _candidates(terms: Terms, *, now: datetime) -> list[Candidate]:
    """With a quote: the quoted device, else those that are the same to the buyer; another one has other terms."""
    if terms.quote is None or terms.quote.device_id is None:
        return beside.propose(wish=terms.wish, now=now)
    try:
        return beside.propose(wish=replace(terms.wish, device_id=terms.quote.device_id), now=now)
    except DoesNotFit:
        return _the_same(beside.propose(wish=terms.wish, now=now), quote_row=terms.quote)


def _the_same(candidates: Sequence[Candidate], *, quote_row: Quote) -> list[Candidate]:
    devices = [allocator.get_device(device_id=one.device_id) for one in candidates]
    pairs = zip(candidates, devices, strict=True)
    kept = [one for one, device in pairs if quote.keeps_the_promise(quote_row, device)]
    if kept:
        return kept
    raise DoesNotFit(
        "The quoted device was taken meanwhile, and the others have other terms.",
        suggestion="Ask for a new quote: it would fit elsewhere.",
        constraints={"other_terms": len(devices)},
        next_free_at=None,
        nearest=[],
        alternatives=[],
    )


@db.transaction
def _book(*, terms: Terms, candidates: Sequence[Candidate], now: datetime) -> tuple[Reservation, LeaseView, Placement]:
    order, wish = terms.order, terms.wish
    reservation_id = new_uuid()
    if terms.quote is not None:
        quote.use(terms.quote, reservation_id=reservation_id, now=now)
    check_quota(
        tenant_id=order.tenant_id, project_id=order.project_id, piece=wish.slice, period=wish.period, is_new=True,
        urgency=order.priority,
    )  # fmt: skip
    billing.authorize(account_id=terms.account_id, now=now)
    lease = book_lease(
        tenant_id=order.tenant_id, project_id=order.project_id, owner=reservation_id, wish=wish, candidates=candidates,
        now=now,
    )  # fmt: skip
    reservation = draft_of(terms, now=now)
    reservation.id = reservation_id
    reservation.state = ReservationState.CONFIRMED
    reservation.change_reason = "booked"
    device = allocator.get_devices(device_ids=[lease.device_id])[lease.device_id]
    take_lease(reservation, lease=lease, device=device)
    reservation.save(force_insert=True)
    tell(reservation)
    placement = note_placement(reservation, lease=lease, device=device, now=now, candidates=candidates)
    outbox.publish(ReservationConfirmed(tenant_id=order.tenant_id, reservation_id=reservation_id, at=now))
    return reservation, lease, placement
