"""Buy, queue and give back gangs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.conf import settings

from allocator import facade as allocator
from allocator.errors import DoesNotFit
from billing import facade as billing
from marketplace.errors import QuotaExceeded, WrongPeriod
from marketplace.events import ReservationQueued
from marketplace.models import EVERYWHERE, Gang, Reach, Reservation, ReservationState, Together
from marketplace.selectors import gangs
from marketplace.services._booking import Terms, draft_of
from marketplace.services._quota import check_wish, may_wait
from marketplace.services._waiting import main_constraint
from marketplace.services.beside import kept_rooms
from marketplace.services.evaluate import read_terms
from marketplace.services.gang import book_gang
from marketplace.services.news import tell
from marketplace.services.queue import PATIENCE
from marketplace.services.release import release
from marketplace.services.show import Shown, show
from marketplace.services.wish import Order, WrongChoice, refusal
from plumbing import db, outbox
from plumbing.errors import DomainError
from vxpu.ids import new_uuid
from vxpu.market import DeviceView

TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownGang:
    """A gang with its members by rank, and their devices as they are now, by id."""

    gang: Gang
    members: Sequence[Shown]
    devices: dict[UUID, DeviceView]


def reserve_gang(
    *,
    order: Order,
    count: int,
    together: str,
    requested_by: UUID,
    actor: str,
    now: datetime,
    reach: Reach = EVERYWHERE,
    name: str = "",
) -> ShownGang:
    """`count` confirmed reservations of one wish, or that many queued ones if `order.queue`; never some of them.

    Raises DoesNotFit (with `not_together` among the constraints when each would fit), QuotaExceeded for the sum,
    NoPrice, WrongChoice, and as `read_terms`.
    """
    _check(order, count, together)
    terms = read_terms(order=order, requested_by=requested_by, actor=actor, reach=reach, now=now, name=name)
    terms = replace(terms, wish=replace(terms.wish, devices=count if together == Together.NODE else 1))
    gang = Gang(
        id=new_uuid(), tenant_id=order.tenant_id, project_id=order.project_id, requested_by=requested_by, name=name,
        count=count, together=together, created_at=now,
    )  # fmt: skip
    try:
        return show_gang(gang, _place(terms, gang, now=now), now=now)
    except DoesNotFit as error:
        if not (order.queue and error.may_come_free):
            raise refusal(error) from error
        return show_gang(gang, _enqueue(terms=terms, gang=gang, refused=error, now=now), now=now)
    except QuotaExceeded as error:
        if not order.queue or not may_wait(error):
            raise
        return show_gang(gang, _enqueue(terms=terms, gang=gang, refused=error, now=now), now=now)


def _check(order: Order, count: int, together: str) -> None:
    if together not in Together.values:
        raise WrongChoice(f"together {together!r} is unknown.", suggestion=f"One of: {', '.join(Together.values)}.")
    if not 1 <= count <= settings.VXPU_GANG_MOST:
        raise WrongChoice(f"A gang has 1 to {settings.VXPU_GANG_MOST} members.", suggestion="Ask for several gangs.")
    if order.device_id is not None and count > 1 and together != Together.ANY:
        raise WrongChoice(
            "Members of a gang have a device each: one cannot be named for all of them.",
            suggestion='Leave `device` out, or say "together": "any".',
        )


def _place(terms: Terms, gang: Gang, *, now: datetime) -> list[Reservation]:
    for attempt in range(1, TRIES + 1):
        kept = kept_rooms(now=now)
        candidates = allocator.propose_gang(
            wish=terms.wish, count=gang.count, together=gang.together, now=now, kept=kept
        )
        try:
            return book_gang(terms=terms, gang=gang, candidates=candidates, now=now)
        except DoesNotFit:
            if attempt == TRIES:
                raise
    raise AssertionError("unreachable")


@db.transaction
def _enqueue(*, terms: Terms, gang: Gang, refused: DomainError, now: datetime) -> list[Reservation]:
    order, wish = terms.order, terms.wish
    check_wish(
        tenant_id=order.tenant_id, project_id=order.project_id, piece=wish.slice, period=wish.period,
        urgency=order.priority, count=gang.count,
    )  # fmt: skip
    billing.authorize(account_id=terms.account_id, now=now)
    expires = order.queued_until or now + PATIENCE
    if expires <= now:
        raise WrongPeriod("queue_until is past.", suggestion="Leave it out to wait for a day.")
    gang.save(force_insert=True)
    return [_queued(terms, gang, rank, expires=expires, refused=refused, now=now) for rank in range(gang.count)]


def _queued(
    terms: Terms, gang: Gang, rank: int, *, expires: datetime, refused: DomainError, now: datetime
) -> Reservation:
    row = draft_of(terms, now=now)
    row.gang, row.gang_rank = gang, rank
    row.state, row.change_reason = ReservationState.QUEUED, "nothing fits now"
    row.queued_until, row.waits_for = expires, main_constraint(refused)
    row.save(force_insert=True)
    tell(row)
    if rank == 0:  # the queue is looked at once for all of them
        outbox.publish(ReservationQueued(tenant_id=row.tenant_id, reservation_id=row.pk, at=now))
    return row


def show_gang(gang: Gang, rows: Sequence[Reservation], *, now: datetime) -> ShownGang:
    """Members by rank."""
    members = show(sorted(rows, key=lambda row: row.gang_rank or 0), now=now)
    found = {row.device_id for row in rows if row.device_id is not None and row.lease_id is not None}
    return ShownGang(gang=gang, members=members, devices=allocator.find_devices(device_ids=found))


def get_gang(*, gang_id: UUID, reach: Reach, now: datetime) -> ShownGang:
    """Raises NotFound."""
    gang = gangs.get_gang(gang_id=gang_id, reach=reach)
    return show_gang(gang, list(gangs.list_gang(gang_id=gang.pk)), now=now)


def release_gang(*, gang_id: UUID, reach: Reach, actor: str, now: datetime) -> ShownGang:
    """Give every member back, in the order of their ids. Safe to repeat. Raises NotFound."""
    gang = gangs.get_gang(gang_id=gang_id, reach=reach)
    members = sorted(row.pk for row in gangs.list_gang(gang_id=gang.pk))
    for reservation_id in members:
        release(reach=reach, reservation_id=reservation_id, actor=actor, now=now)
    return get_gang(gang_id=gang_id, reach=reach, now=now)
