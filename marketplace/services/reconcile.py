"""The periodic truth: every live or recently ended reservation is brought to where its lease is, and rated.

Events only make it sooner: `reconcile_owners` is what their tasks call, `reconcile` is what the beat calls.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from allocator import facade as allocator
from marketplace import selectors
from marketplace.models import EVERYWHERE, TAKES_CAPACITY, Reservation, ReservationState
from marketplace.services import follow, move_on, preempt_end, rate
from plumbing.errors import DomainError
from vxpu.market import LeaseView

# States that a look at the lease alone does not finish.
ON_THE_WAY = frozenset({ReservationState.MOVING, ReservationState.PREEMPTING, ReservationState.PREEMPTED})

# How many reservations that only begin share a transaction.
MOST = 100

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """How many were looked at, how many had something to do, and how many of those could not be finished."""

    seen: int
    done: int
    failed: int


def reconcile(*, now: datetime) -> Reconciled:
    """One reservation's trouble is logged and does not stop the others; the next run tries again."""
    return _look_at(list(selectors.list_followed(now=now)), now=now)


def reconcile_owners(*, owners: Collection[UUID], now: datetime) -> Reconciled:
    """The same for those that something happened to; an owner that is no reservation of ours is nobody's business."""
    return _look_at(list(EVERYWHERE.rows().filter(pk__in=owners).order_by("created_at", "id")), now=now)


def _look_at(rows: Sequence[Reservation], *, now: datetime) -> Reconciled:
    leases = {lease.id: lease for lease in allocator.list_leases(owners=[row.pk for row in rows])} if rows else {}
    pairs = [(row, leases.get(row.lease_id or row.pk)) for row in rows]
    behind = [(row, lease) for row, lease in pairs if is_behind(row, lease, now=now)]
    plain = [row.pk for row, lease in behind if lease is not None and _only_begins(row, lease, now=now)]
    failed = 0
    for first in range(0, len(plain), MOST):
        follow.follow_begun(reservation_ids=plain[first : first + MOST], now=now)
    for row, _ in behind:
        if row.pk in plain:
            continue
        try:
            _bring_up(reservation_id=row.pk, now=now)
        except DomainError:
            failed += 1
            log.exception("Reservation %s: not reconciled", row.pk)
    return Reconciled(seen=len(rows), done=len(behind) - failed, failed=failed)


def _only_begins(row: Reservation, lease: LeaseView, *, now: datetime) -> bool:
    """Nothing but a step of `follow` is to be done for it."""
    starts = follow.where_it_is(row, lease, now=now)[0] in follow.BEGUN and row.state in follow.BEGINS
    return starts and not rate.is_unrated(row, now=now)


def is_behind(row: Reservation, lease: LeaseView | None, *, now: datetime) -> bool:
    """Without a lock: whether there is something to do. A stale "yes" costs a look, a stale "no" waits a beat."""
    if lease is not None and row.state in TAKES_CAPACITY:
        target, _ = follow.where_it_is(row, lease, now=now)
        if target is not None and target != row.state:
            return True
    return row.state in ON_THE_WAY or rate.is_unrated(row, now=now)


def _bring_up(*, reservation_id: UUID, now: datetime) -> None:
    follow.follow(reservation_id=reservation_id, now=now)
    move_on.move_on(reservation_id=reservation_id, now=now)
    preempt_end.spare(reservation_id=reservation_id, now=now)
    rate.rate_reservation(reservation_id=reservation_id, now=now)
    preempt_end.requeue(reservation_id=reservation_id, now=now)


def reconcile_victims(*, for_id: UUID, now: datetime) -> int:
    """A reservation ended: those who were told to make room for it may stay. Returns how many were looked at."""
    victims = preempt_end.list_victims(for_id=for_id)
    for reservation_id in victims:
        _bring_up(reservation_id=reservation_id, now=now)
    return len(victims)
