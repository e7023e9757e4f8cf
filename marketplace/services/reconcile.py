"""The periodic truth: every live or recently ended reservation is brought to where its lease is, and rated.

Events only make it sooner: `reconcile_one` is what their tasks call, `reconcile` is what the beat calls.
"""

from __future__ import annotations

import logging
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

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """How many were looked at, how many had something to do, and how many of those could not be finished."""

    seen: int
    done: int
    failed: int


def reconcile(*, now: datetime) -> Reconciled:
    """One reservation's trouble is logged and does not stop the others; the next run tries again."""
    rows = list(selectors.list_followed(now=now))
    leases = {lease.id: lease for lease in allocator.list_leases(owners=[row.pk for row in rows])}
    behind = [row.pk for row in rows if is_behind(row, leases.get(row.lease_id or row.pk), now=now)]
    failed = 0
    for reservation_id in behind:
        try:
            _bring_up(reservation_id=reservation_id, now=now)
        except DomainError:
            failed += 1
            log.exception("Reservation %s: not reconciled", reservation_id)
    return Reconciled(seen=len(rows), done=len(behind) - failed, failed=failed)


def reconcile_one(*, owner: UUID, now: datetime) -> bool:
    """An owner that is no reservation of ours is nobody's business here: False."""
    if not EVERYWHERE.rows().filter(pk=owner).exists():
        return False
    _bring_up(reservation_id=owner, now=now)
    return True


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
