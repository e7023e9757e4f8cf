"""Wishes that wait for room: a place in the queue takes no capacity. See `queue_run` for who gets it, and when."""

from __future__ import annotations

from datetime import datetime, timedelta

from billing import facade as billing
from marketplace import selectors
from marketplace.errors import WrongPeriod
from marketplace.events import ReservationQueued
from marketplace.models import Reservation, ReservationState
from marketplace.services._booking import Terms, draft_of
from marketplace.services._line import competes
from marketplace.services._quota import check_wish
from marketplace.services._waiting import expire, free_at, main_constraint
from marketplace.services.news import tell
from marketplace.services.position import position_of
from marketplace.services.queue_run import place_queued
from plumbing import db, outbox
from plumbing.errors import DomainError
from plumbing.rowsec import system_scope

__all__ = ["enqueue", "expire", "place_queued", "position_of"]
PATIENCE = timedelta(hours=24)


@db.transaction
def enqueue(*, terms: Terms, refused: DomainError, now: datetime) -> Reservation:
    """Raises QuotaExceeded for a size that the quota can never allow, WrongPeriod for an expiry that is past."""
    order, wish = terms.order, terms.wish
    check_wish(
        tenant_id=order.tenant_id, project_id=order.project_id, piece=wish.slice, period=wish.period,
        urgency=order.priority,
    )  # fmt: skip
    billing.authorize(account_id=terms.account_id, now=now)
    expires = order.queued_until or now + PATIENCE
    if expires <= now:
        raise WrongPeriod("queue_until is past.", suggestion="Leave it out to wait for a day.")
    reservation = draft_of(terms, now=now)
    reservation.state = ReservationState.QUEUED
    reservation.change_reason = "nothing fits now"
    reservation.queued_until = expires
    reservation.waits_for = main_constraint(refused)
    reservation.estimated_start_at = free_at(refused) if _is_alone(reservation) else None
    reservation.save(force_insert=True)
    tell(reservation)
    outbox.publish(ReservationQueued(tenant_id=order.tenant_id, reservation_id=reservation.pk, at=now))
    return reservation


def _is_alone(row: Reservation) -> bool:
    """Then the calendar tells the start; with others in line only a replay does."""
    with system_scope():
        return not any(competes(row, other) for other in selectors.list_queued())
