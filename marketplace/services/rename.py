"""A reservation's name: for people, and nothing else depends on it."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from marketplace import locks
from marketplace.models import Reach, Reservation
from marketplace.services._transition import amend
from plumbing import db


@db.transaction
def rename(*, reach: Reach, reservation_id: UUID, name: str, actor: str, now: datetime) -> Reservation:  # noqa: ARG001
    """Any state, also an ended one. Raises NotFound."""
    row = locks.lock_reservation(reservation_id=reservation_id, reach=reach)
    return row if row.name == name else amend(row, name=name)
