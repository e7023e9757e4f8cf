"""Where a wish stands in line, as its tenant is told."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from marketplace.models import Reservation, ReservationState
from marketplace.services._line import competes, list_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """`best` and `worst` place in line (1 is next): a short wish may go ahead while it delays nobody. The estimates are
    of the last replay of the calendar; None is "not known"."""

    best: int
    worst: int
    waits_for: str
    estimated_start_at: datetime | None
    estimated_start_by: datetime | None = None
    attempts: int = 0
    next_try_at: datetime | None = None


def positions(rows: Iterable[Reservation], *, now: datetime) -> dict[UUID, Position]:
    """Of those that are queued. Counts other tenants' wishes without naming them."""
    wanted = {row.pk: row for row in rows if row.state == ReservationState.QUEUED}
    if not wanted:
        return {}
    found = {}
    ahead: list[Reservation] = []
    for group in list_line(now=now):
        for row in group.rows:
            if row.pk in wanted:
                found[row.pk] = _position(wanted[row.pk], ahead)
        ahead.append(group.first)
    return found


def _position(row: Reservation, ahead: Collection[Reservation]) -> Position:
    before = sum(1 for other in ahead if competes(row, other))
    return Position(
        best=1 if row.ends_at is not None else before + 1,
        worst=before + 1,
        waits_for=row.waits_for,
        estimated_start_at=row.estimated_start_at,
        estimated_start_by=row.estimated_start_by,
        attempts=row.attempts,
        next_try_at=row.next_try_at,
    )


def position_of(row: Reservation, *, now: datetime) -> Position | None:
    """None for what is not queued."""
    return positions([row], now=now).get(row.pk)
