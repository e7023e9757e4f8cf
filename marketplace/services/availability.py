"""The calendar of the fleet as one caller may see it: what is taken, what is his, and where a slice would fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from allocator import facade as allocator
from marketplace.errors import WrongPeriod
from marketplace.models import Reach, Reservation
from marketplace.services.wish import known_device_kind, size_of
from plumbing import db
from vxpu.market import CalendarRow

LONGEST = timedelta(days=62)


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """`named` holds the reservations that the caller may see, by id; whatever else is taken stays nameless."""

    starts_at: datetime
    ends_at: datetime
    rows: list[CalendarRow]
    named: Mapping[UUID, Reservation]


def availability(
    *,
    reach: Reach,
    starts_at: datetime,
    ends_at: datetime,
    memory_mib: int,
    share_permille: int,
    device_kind: str | None,
    device_id: UUID | None,
    now: datetime,
) -> Availability:
    """One snapshot over at most 62 days. Raises WrongPeriod, WrongSize, WrongChoice."""
    if not starts_at < ends_at <= starts_at + LONGEST:
        raise WrongPeriod(
            f"From {starts_at.isoformat()} to {ends_at.isoformat()} is not 0 to {LONGEST.days} days.",
            suggestion=f"Ask for at most {LONGEST.days} days, `to` after `from`.",
        )
    piece, kind = size_of(memory_mib, share_permille), known_device_kind(device_kind)
    with db.snapshot():
        rows = allocator.list_calendar(
            from_at=starts_at, to_at=ends_at, slice=piece, now=now, device_kind=kind, device_id=device_id
        )
        owners = {piece.owner for row in rows for piece in row.pieces}
        named = reach.rows().in_bulk(owners) if owners else {}
    return Availability(starts_at=starts_at, ends_at=ends_at, rows=rows, named=named)
