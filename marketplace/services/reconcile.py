"""The periodic truth: every live or recently ended reservation is brought to where its lease is, and rated."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime

from marketplace import selectors
from marketplace.models import ReservationState
from marketplace.services import follow, move_on, rate
from plumbing.errors import DomainError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """How many were looked at, moved to another state, given another device, rated, and could not be finished."""

    seen: int
    followed: int
    moved: int
    rated: int
    failed: int


def reconcile(*, now: datetime) -> Reconciled:
    """One reservation's trouble is logged and does not stop the others; the next run tries again."""
    rows = list(selectors.list_followed(now=now).values_list("id", flat=True))
    followed = moved = rated = failed = 0
    for reservation_id in rows:
        try:
            followed += follow.follow(reservation_id=reservation_id, now=now)
            row = selectors.get_reservation(reservation_id=reservation_id)
            if row.state == ReservationState.MOVING:
                moved += move_on.move_on(reservation_id=reservation_id, now=now)
            rated += rate.rate_reservation(reservation_id=reservation_id, now=now) > 0
        except DomainError:
            failed += 1
            log.exception("Reservation %s: not reconciled", reservation_id)
    return Reconciled(seen=len(rows), followed=followed, moved=moved, rated=rated, failed=failed)
