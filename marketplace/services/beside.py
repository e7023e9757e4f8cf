"""Room that is kept clear for who waits: a purchase that fits at once goes beside it, and so does what grows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from allocator import facade as allocator
from allocator.errors import DoesNotFit
from marketplace import selectors
from marketplace.models import Reservation, ReservationState
from marketplace.services.wish import slice_of
from plumbing.rowsec import system_scope
from vxpu.market import Candidate, KeptRoom, Wish
from vxpu.slices import Period, Slice
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


def check_resize(row: Reservation, *, lease_id: UUID, piece: Slice, now: datetime) -> datetime:
    """As `allocator.check_resize`; what grows does so beside the rooms that are kept on its device."""
    at = allocator.check_resize(lease_id=lease_id, slice=piece, now=now)
    kept = kept_rooms(now=now, device_id=row.device_id)
    if kept:
        try:
            allocator.check_resize(lease_id=lease_id, slice=piece, now=now, kept=kept)
        except DoesNotFit as error:
            raise _is_kept(error, nearest=_larger(error.data["nearest"], slice_of(row))) from error
    return at


def _larger(sizes: object, piece: Slice) -> list[Slice]:
    found = [one for one in sizes if isinstance(one, Slice)] if isinstance(sizes, list) else []
    return [one for one in found if one.memory_mib > piece.memory_mib or one.share_permille > piece.share_permille]


def check_end(row: Reservation, *, lease_id: UUID, ends_at: datetime | None, now: datetime) -> None:
    """As `allocator.check_end`; time that is added is beside the rooms that are kept on its device."""
    allocator.check_end(lease_id=lease_id, ends_at=ends_at, now=now)
    kept = kept_rooms(now=now, device_id=row.device_id)
    if not kept:
        return
    try:
        allocator.check_end(lease_id=lease_id, ends_at=ends_at, now=now, kept=kept)
    except DoesNotFit as error:
        until = _latest_end(row, lease_id, kept, before=ends_at, now=now)
        raise _is_kept(error, nearest=[], until=until) from error


def _latest_end(
    row: Reservation, lease_id: UUID, kept: Sequence[KeptRoom], *, before: datetime | None, now: datetime
) -> datetime | None:
    """Up to where it may be extended; None if by nothing."""
    starts = {room.period.starts_at for room in kept}
    for at in sorted(starts, reverse=True):
        if row.ends_at is not None and row.ends_at < at and (before is None or at < before):
            try:
                allocator.check_end(lease_id=lease_id, ends_at=at, now=now, kept=kept)
            except DoesNotFit:
                continue
            return at
    return None


def _is_kept(error: DoesNotFit, *, nearest: list[Slice], until: datetime | None = None) -> DoesNotFit:
    told = "" if until is None else f" An end up to {until.isoformat()} would do."
    ways = {"next_free_at": None, "nearest": nearest, "alternatives": []}
    return DoesNotFit(
        f"That room is kept for a wish that is ahead in the queue.{told}", suggestion=error.suggestion,
        constraints={CONSTRAINT: 1}, **ways,
    )  # fmt: skip


def kept_rooms(*, now: datetime, leave_out: Collection[UUID] = (), device_id: UUID | None = None) -> list[KeptRoom]:
    """What the last look at the queue has kept, on every device or on one. A planned start that has passed is kept from
    now on, for as long."""
    on_device = {"planned_device_id__isnull": False} if device_id is None else {"planned_device_id": device_id}
    with system_scope():
        if not selectors.is_room_kept():
            return []
        rows = list(
            Reservation.objects.filter(state=ReservationState.QUEUED, **on_device)
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
