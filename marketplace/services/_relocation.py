"""Many reservations at once: without a place, and with another one. Guarded as one alone is, noted by the trigger."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import F

from allocator import facade as allocator
from marketplace import locks
from marketplace.errors import ReservationChanged
from marketplace.models import Reservation, ReservationState
from marketplace.services._transition import SYSTEM
from marketplace.services.wish import wish_again
from plumbing.db import transaction_required
from vxpu.market import Claim, DeviceWords, Wish
from vxpu.slices import Period

S = ReservationState
# Those that a lost lease leaves without a place; the others end with it.
RUNNING = frozenset({S.CONFIRMED, S.ACTIVATING, S.ACTIVE, S.SUSPENDED})
NODE_LOST = "the node was lost"
WAITS = "the node was lost; the device was asked for by name and is waited for"
PLACED = "placed on another device"


class Bound(NamedTuple):
    """A lease on a device."""

    lease_id: UUID
    device_id: UUID


REPLACED = f"{NODE_LOST}; {PLACED}"

# Price and unit price stay as they were bought. Who is not MOVING yet goes by way of it, which counts two.
_BIND = """
UPDATE marketplace_reservation r
   SET state = CASE WHEN r.starts_at > %(now)s THEN 'confirmed' ELSE 'activating' END, version = b.version + b.steps,
       changed_at = %(now)s, changed_by = %(by)s, lease_id = b.lease, device_id = b.device,
       change_reason = CASE b.steps WHEN 1 THEN %(placed)s ELSE %(replaced)s END
  FROM jsonb_to_recordset(%(bound)s::jsonb) AS b (id uuid, lease uuid, device uuid, version integer, steps integer)
 WHERE r.id = b.id AND r.version = b.version
"""
# A lease that was replaced before its start has never been anybody's time.
_CLOSE = """
UPDATE marketplace_placement SET is_current = false, booked_until = greatest(booked_from, %(now)s)
 WHERE reservation_id = ANY (%(ids)s::uuid[]) AND is_current
"""
_PLACE = """
INSERT INTO marketplace_placement (id, tenant_id, created_at, reservation_id, lease_id, device_id, device_kind,
                                   device_model, device_mib, device_simulated, booked_from, is_current)
SELECT gen_random_uuid(), r.tenant_id, %(now)s, r.id, b.lease, b.device, b.kind, b.model, b.mib, b.simulated,
       greatest(r.starts_at, %(now)s), true
  FROM jsonb_to_recordset(%(bound)s::jsonb)
       AS b (id uuid, lease uuid, device uuid, kind text, model text, mib bigint, simulated boolean)
  JOIN marketplace_reservation r ON r.id = b.id
"""


@transaction_required
def give_all_up(rows: Sequence[Reservation], *, reason: str, now: datetime) -> None:
    """Locked rows whose leases were lost -> MOVING; in memory they stay as they are. Raises ReservationChanged."""
    noted = {"state": S.MOVING, "changed_at": now, "changed_by": SYSTEM, "change_reason": reason}
    found = Reservation.objects.filter(pk__among=[row.pk for row in rows])
    if rows and found.update(version=F("version") + 1, **noted) != len(rows):
        raise ReservationChanged(suggestion="Read the reservations and decide again.")


@transaction_required
def bind_all(
    rows: Sequence[Reservation], *, bound: Mapping[UUID, Bound], devices: Mapping[UUID, DeviceWords], now: datetime
) -> None:
    """Rows as they were read, locked: to their new leases, by owner. In memory they stay as they are. `devices` by id.
    Raises ReservationChanged."""
    if not rows:
        return
    values: dict[str, Any] = {
        "bound": json.dumps([_bound(row, bound[row.pk], devices[bound[row.pk].device_id]) for row in rows]),
        "ids": [row.pk for row in rows], "now": now, "by": SYSTEM, "placed": PLACED,
        "replaced": REPLACED,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_BIND, values)
        if cursor.rowcount != len(rows):
            raise ReservationChanged(suggestion="Read the reservations and decide again.")
        cursor.execute(_CLOSE, values)
        cursor.execute(_PLACE, values)


def _bound(row: Reservation, bound: Bound, device: DeviceWords) -> dict[str, object]:
    return {
        "id": str(row.pk), "lease": str(bound.lease_id), "device": str(bound.device_id),
        "version": row.version, "steps": _steps(row), "kind": device.kind, "model": device.model,
        "mib": device.capacity_mib, "simulated": device.simulated,
    }  # fmt: skip


def _steps(row: Reservation) -> int:
    return 1 if row.state == S.MOVING else 2


@transaction_required
def rebook(
    *, claims: Sequence[Claim], seen: Mapping[UUID, Reservation], now: datetime
) -> tuple[dict[UUID, Bound], list[UUID]]:
    """Reservations by id, then devices by id: the order of `locks`. Whoever changed meanwhile is left out. Returns who
    was bound to what, and who was refused and has been given up only now."""
    same = locks.lock_unchanged(seen=[seen[claim.owner] for claim in claims])
    leases, _ = allocator.book_all(claims=[claim for claim in claims if claim.owner in same], now=now)
    bound = {
        claim.owner: Bound(leases[claim.owner], claim.place.device_id) for claim in claims if claim.owner in leases
    }
    devices = allocator.find_words(device_ids={place.device_id for place in bound.values()})
    bind_all([seen[owner] for owner in bound], bound=bound, devices=devices, now=now)
    refused = [owner for owner in same if owner not in bound and seen[owner].state != S.MOVING]
    give_all_up([seen[owner] for owner in refused], reason=NODE_LOST, now=now)
    return bound, refused


def is_wanted(row: Reservation, *, now: datetime) -> bool:
    """It is to go on."""
    return row.released_at is None and (row.ends_at is None or row.ends_at > now)


def wish_from_now(row: Reservation, *, now: datetime) -> Wish:
    """What it wanted, for the rest of its period."""
    return wish_again(row, period=Period(starts_at=max(now, row.starts_at), ends_at=row.ends_at))


def note_bound(row: Reservation, bound: Bound, *, now: datetime) -> None:
    """In memory, once `bind_all` is committed."""
    row.version += _steps(row)
    row.state = S.CONFIRMED if row.starts_at > now else S.ACTIVATING
    row.lease_id, row.device_id = bound


def note_given_up(row: Reservation) -> None:
    """In memory, once `give_all_up` is committed."""
    row.state, row.version = S.MOVING, row.version + 1
