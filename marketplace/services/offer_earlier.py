"""Capacity was freed: whoever waits for a booked start may have it earlier. Offered, never imposed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from allocator import facade as allocator
from allocator.errors import DoesNotFit
from marketplace import locks, selectors
from marketplace.events import EarlierStartOffered
from marketplace.models import Reservation, ReservationState
from marketplace.services._transition import SYSTEM, amend
from marketplace.services.beside import kept_rooms
from marketplace.services.notices import note
from marketplace.services.wish import slice_of, wish_again
from plumbing import db, outbox
from vxpu.ids import encode
from vxpu.market import KeptRoom, Wish
from vxpu.slices import Period


def offer_earlier(*, now: datetime) -> int:
    """Look at all who wait; returns how many offers were made, moved or withdrawn."""
    changed, rows = 0, list(selectors.list_waiting_to_start(now=now))
    kept = kept_rooms(now=now) if rows else []
    for row in rows:
        earliest = earliest_start(row, kept=kept, now=now)
        if earliest != row.earlier_start_at:
            changed += _note(reservation_id=row.pk, earliest=earliest, now=now)
    return changed


def earliest_start(row: Reservation, *, kept: Sequence[KeptRoom], now: datetime) -> datetime | None:
    """The earliest instant before the booked start at which the same slice for the same length would fit beside the
    rooms that are `kept` for who waits, or None.

    An offer that still holds is kept as it is, so that it does not creep along with the clock.
    """
    still = row.earlier_start_at
    if still is not None and _fits(row, starts_at=max(still, now), kept=kept, now=now):
        return still
    if _fits(row, starts_at=now, kept=kept, now=now):
        return now
    try:
        allocator.propose(wish=_gap(row, starts_at=now), now=now, kept=kept)
    except DoesNotFit as error:
        later = error.data.get("next_free_at")
        if (
            isinstance(later, datetime)
            and now < later < row.starts_at
            and _fits(row, starts_at=later, kept=kept, now=now)
        ):
            return later
    return None


def period_from(row: Reservation, *, starts_at: datetime) -> Period:
    """The booked length from another start; an open end stays open."""
    length = None if row.ends_at is None else row.ends_at - row.starts_at
    return Period(starts_at=starts_at, ends_at=None if length is None else starts_at + length)


def _gap(row: Reservation, *, starts_at: datetime) -> Wish:
    """What is missing on the reservation's own device: from the new start until what it holds already."""
    ends_at = period_from(row, starts_at=starts_at).ends_at
    gap = Period(starts_at=starts_at, ends_at=min(row.starts_at, ends_at or row.starts_at))
    return Wish(slice=slice_of(row), period=gap, device_id=row.device_id)


def _fits(row: Reservation, *, starts_at: datetime, kept: Sequence[KeptRoom], now: datetime) -> bool:
    """On its own device in the gap before its start, or as a whole on any device that it may have."""
    whole = wish_again(row, period=period_from(row, starts_at=starts_at))
    for wish in (_gap(row, starts_at=starts_at), whole):
        try:
            if allocator.propose(wish=wish, now=now, kept=kept):
                return True
        except DoesNotFit:
            continue
    return False


@db.transaction
def _note(*, reservation_id: UUID, earliest: datetime | None, now: datetime) -> int:
    row = locks.lock_reservation(reservation_id=reservation_id)
    if row.state != ReservationState.CONFIRMED or row.starts_at <= now or row.earlier_start_at == earliest:
        return 0
    is_new = earliest is not None and row.earlier_start_at is None
    amend(row, earlier_start_at=earliest)
    if is_new and earliest is not None:
        note(
            tenant_id=row.tenant_id, project_id=row.project_id, kind="reservation.earlier_start_offered",
            subject=encode("rsv", row.pk), actor=SYSTEM, now=now,
            data={"name": row.name, "booked_start_at": row.starts_at.isoformat(), "starts_at": earliest.isoformat()},
        )  # fmt: skip
        outbox.publish(EarlierStartOffered(tenant_id=row.tenant_id, reservation_id=row.pk, starts_at=earliest))
    return 1
