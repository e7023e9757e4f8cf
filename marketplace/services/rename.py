"""A reservation's name: for people, and nothing else depends on it."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from marketplace import locks
from marketplace.models import Reach, Reservation
from marketplace.services._transition import amend
from marketplace.services.news import tell
from plumbing import db


@db.transaction
def rename(*, reach: Reach, reservation_id: UUID, name: str, actor: str, now: datetime) -> Reservation:  # noqa: ARG001
    """Any state, also an ended one. Raises NotFound."""
    row = locks.lock_reservation(reservation_id=reservation_id, reach=reach)
    if row.name == name:
        return row
    amend(row, name=name)
    tell(row)
    return row
