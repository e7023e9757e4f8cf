"""Wishes that wait for room: a place in the queue takes no capacity."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q

from allocator import facade as allocator
from allocator.errors import DoesNotFit
from billing import facade as billing
from marketplace import locks, selectors
from marketplace.errors import WrongPeriod
from marketplace.events import ReservationConfirmed, ReservationQueued
from marketplace.models import Reservation, ReservationState
from marketplace.services import preempt
from marketplace.services._booking import Terms, book_lease, draft_of, note_placement, take_lease
from marketplace.services._quota import check_quota, check_wish
from marketplace.services._transition import SYSTEM, amend, move
from marketplace.services.news import tell, tell_wait
from marketplace.services.wish import slice_of, wish_again
from plumbing import db, outbox
from plumbing.errors import DomainError
from plumbing.rowsec import system_scope
from vxpu.slices import Period

PATIENCE = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """`best` and `worst` place in line (1 is next): a short wish may go ahead while it delays nobody."""

    best: int
    worst: int
    waits_for: str
    estimated_start_at: datetime | None


@db.transaction
def enqueue(*, terms: Terms, refused: DoesNotFit, now: datetime) -> Reservation:
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
    reservation.estimated_start_at = free_at(refused)
    reservation.save(force_insert=True)
    tell(reservation)
    outbox.publish(ReservationQueued(tenant_id=order.tenant_id, reservation_id=reservation.pk, at=now))
    return reservation


def place_queued(*, now: datetime) -> int:
    """Give room to who has waited longest; returns how many got it.

    Among wishes that compete for the same devices the order of asking holds, with EASY backfilling: once a wish must
    wait until T, a later one may pass it only if it ends by T (Lifka, "The ANL/IBM SP scheduling system", 1995).
    """
    placed = 0
    waiting: list[tuple[Reservation, datetime]] = []
    for row in list(selectors.list_queued()):
        if row.queued_until is not None and row.queued_until <= now:
            expire(reservation_id=row.pk, now=now)
            continue
        period = period_now(row, now=now)
        if any(competes(row, other) and (period.ends_at is None or period.ends_at > at) for other, at in waiting):
            continue
        try:
            placed += _place_one(reservation_id=row.pk, now=now)
        except DoesNotFit as error:
            if preempt.evict_for(row=row, now=now):
                placed += 1
                continue
            note_wait(reservation_id=row.pk, refused=error)
            estimate = free_at(error)
            if estimate is not None:
                waiting.append((row, estimate))
        except DomainError as error:  # quota, account or price: that tenant's matter, it holds up nobody else
            note_wait(reservation_id=row.pk, refused=error)
    return placed


@db.transaction
def _place_one(*, reservation_id: UUID, now: datetime) -> int:
    row = selectors.get_reservation(reservation_id=reservation_id)
    period = period_now(row, now=now)
    check_quota(tenant_id=row.tenant_id, project_id=row.project_id, piece=slice_of(row), period=period, is_new=False)
    row = locks.lock_reservation(reservation_id=reservation_id)
    if row.state != ReservationState.QUEUED:
        return 0
    billing.authorize(account_id=row.account_id, now=now)
    wish = wish_again(row, period=period)
    candidates = allocator.propose(wish=wish, now=now)
    lease = book_lease(
        tenant_id=row.tenant_id, project_id=row.project_id, owner=row.pk, wish=wish, candidates=candidates, now=now
    )
    device = allocator.get_device(device_id=lease.device_id)
    bound = take_lease(row, lease=lease, device=device)
    move(
        row, ReservationState.CONFIRMED, actor=SYSTEM, reason="room was found", now=now, starts_at=period.starts_at,
        ends_at=period.ends_at, waits_for="", estimated_start_at=None, **bound,
    )  # fmt: skip
    note_placement(row, lease=lease, device=device, now=now)
    outbox.publish(ReservationConfirmed(tenant_id=row.tenant_id, reservation_id=row.pk, at=now))
    return 1


@db.transaction
def expire(*, reservation_id: UUID, now: datetime) -> None:
    row = locks.lock_reservation(reservation_id=reservation_id)
    if row.state == ReservationState.QUEUED:
        move(row, ReservationState.EXPIRED, actor=SYSTEM, reason="waited as long as it was told to", now=now,
             ended_at=now, end_reason="expired")  # fmt: skip


@db.transaction
def note_wait(*, reservation_id: UUID, refused: DomainError) -> None:
    """Nothing waits in silence: the reason and the estimate of the last try."""
    row = locks.lock_reservation(reservation_id=reservation_id)
    told = {"waits_for": main_constraint(refused), "estimated_start_at": free_at(refused)}
    if row.state == ReservationState.QUEUED and told != {name: getattr(row, name) for name in told}:
        amend(row, **told)
        tell_wait(row)


def position_of(row: Reservation) -> Position | None:
    """None for what is not queued. Counts other tenants' wishes without naming them."""
    if row.state != ReservationState.QUEUED:
        return None
    ahead = Reservation.objects.filter(state=ReservationState.QUEUED).filter(
        Q(created_at__lt=row.created_at) | Q(created_at=row.created_at, id__lt=row.id)
    )
    with system_scope():
        before = sum(1 for other in ahead if competes(row, other))
    best = 1 if row.ends_at is not None else before + 1
    return Position(best=best, worst=before + 1, waits_for=row.waits_for, estimated_start_at=row.estimated_start_at)


def period_now(row: Reservation, *, now: datetime) -> Period:
    """A wish whose start has passed keeps its length and begins now; one for later keeps its time."""
    if row.starts_at > now:
        return Period(starts_at=row.starts_at, ends_at=row.ends_at)
    return Period(starts_at=now, ends_at=None if row.ends_at is None else now + (row.ends_at - row.starts_at))


def competes(one: Reservation, other: Reservation) -> bool:
    """May the two want the same device? Yes unless both name a kind, or a device, and it is not the same."""
    kinds, devices = {one.device_kind, other.device_kind}, {one.wanted_device_id, other.wanted_device_id}
    return not ((len(kinds) == 2 and "" not in kinds) or (len(devices) == 2 and None not in devices))


def main_constraint(refused: DomainError) -> str:
    """The constraint that ruled out most devices, or the error's own code."""
    counts = refused.data.get("constraints")
    if isinstance(counts, dict) and counts:
        return str(max(sorted(counts), key=lambda name: counts[name]))[:40]
    return refused.code[:40]


def free_at(refused: DomainError) -> datetime | None:
    at = refused.data.get("next_free_at")
    return at if isinstance(at, datetime) else None
