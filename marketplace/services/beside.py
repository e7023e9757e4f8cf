"""Room that is kept clear for who waits: a purchase that fits at once goes beside it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from allocator import facade as allocator
from allocator.errors import DoesNotFit
from marketplace import selectors
from marketplace.models import Reservation, ReservationState
from marketplace.services.wish import slice_of
from plumbing.rowsec import system_scope
from vxpu.market import Candidate, KeptRoom, Wish
from vxpu.slices import Period
from vxpu.states import Isolation

CONSTRAINT = "kept_for_queue"


def propose(*, wish: Wish, now: datetime, leave_out: Collection[UUID] = ()) -> list[Candidate]:
    """As `allocator.propose`, beside the rooms kept for whoever is queued (`leave_out` aside). Raises DoesNotFit; its
    constraint is CONSTRAINT if it would fit but for them."""
    kept = kept_rooms(now=now, leave_out=leave_out)
    try:
        return allocator.propose(wish=wish, now=now, kept=kept)
    except DoesNotFit as error:
        if kept:
            spare = _would_fit(wish, now=now)
            if spare:
                error.data["constraints"] = {CONSTRAINT: spare}
        raise


def kept_rooms(*, now: datetime, leave_out: Collection[UUID] = ()) -> list[KeptRoom]:
    """What the last look at the queue has kept. A planned start that has passed is kept from now on, for as long."""
    with system_scope():
        if not selectors.is_room_kept():
            return []
        rows = list(
            Reservation.objects.filter(state=ReservationState.QUEUED, planned_device_id__isnull=False)
            .exclude(pk__in=leave_out)
            .order_by("created_at", "id")
        )
    return [room for row in rows if (room := _room_of(row, now=now)) is not None]


def _room_of(row: Reservation, *, now: datetime) -> KeptRoom | None:
    if row.planned_device_id is None or row.planned_start_at is None:
        return None
    starts_at = max(now, row.planned_start_at)
    length = None if row.ends_at is None else row.ends_at - row.starts_at
    return KeptRoom(
        device_id=row.planned_device_id,
        owner=row.pk,
        slice=slice_of(row),
        period=Period(starts_at=starts_at, ends_at=None if length is None else starts_at + length),
        whole=row.isolation_at_least == Isolation.EXCLUSIVE,
    )


def _would_fit(wish: Wish, *, now: datetime) -> int:
    try:
        return len(allocator.propose(wish=wish, now=now))
    except DoesNotFit:
        return 0
