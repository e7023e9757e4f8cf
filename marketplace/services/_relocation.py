"""Many reservations at once: without a place, and with another one. Guarded as one alone is, noted by the trigger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import F
from django.db.models.functions import Greatest

from marketplace.errors import ReservationChanged
from marketplace.models import Placement, Reservation, ReservationState
from marketplace.services._booking import placement_of
from marketplace.services._transition import SYSTEM
from plumbing.db import transaction_required
from vxpu.market import DeviceView, LeaseView

S = ReservationState
LOST = "the node was lost"
WAITS = "the node was lost; the device was asked for by name and is waited for"
PLACED = "placed on another device"

# Price and unit price stay as they were bought.
_BIND = """
UPDATE marketplace_reservation r
   SET state = CASE WHEN r.starts_at > %(now)s THEN 'confirmed' ELSE 'activating' END, version = r.version + 1,
       changed_at = %(now)s, changed_by = %(by)s, change_reason = %(reason)s, lease_id = b.lease, device_id = b.device
  FROM unnest(%(ids)s::uuid[], %(leases)s::uuid[], %(devices)s::uuid[], %(versions)s::int[])
       AS b (id, lease, device, version)
 WHERE r.id = b.id AND r.state = 'moving' AND r.version = b.version
"""


@transaction_required
def give_all_up(rows: Sequence[Reservation], *, reason: str, now: datetime) -> None:
    """Locked rows whose leases were lost -> MOVING. Raises ReservationChanged."""
    noted = {"state": S.MOVING, "changed_at": now, "changed_by": SYSTEM, "change_reason": reason}
    found = Reservation.objects.filter(pk__in=[row.pk for row in rows])
    if found.update(version=F("version") + 1, **noted) != len(rows):
        raise ReservationChanged(suggestion="Read the reservations and decide again.")
    for row in rows:
        row.state, row.version = S.MOVING, row.version + 1


@transaction_required
def bind_all(
    rows: Sequence[Reservation], *, leases: Mapping[UUID, LeaseView], devices: Mapping[UUID, DeviceView], now: datetime
) -> None:
    """Locked rows that are MOVING -> their new leases, by owner; `devices` by id. Raises ReservationChanged."""
    bound = [(row.pk, leases[row.pk].id, leases[row.pk].device_id, row.version) for row in rows]
    if not bound:
        return
    ids, lease_ids, device_ids, versions = (list(column) for column in zip(*bound, strict=True))
    values = {"ids": ids, "leases": lease_ids, "devices": device_ids, "versions": versions}
    with connection.cursor() as cursor:
        cursor.execute(_BIND, {**values, "now": now, "by": SYSTEM, "reason": PLACED})
        if cursor.rowcount != len(rows):
            raise ReservationChanged(suggestion="Read the reservations and decide again.")
    # A lease that was replaced before its start has never been anybody's time.
    Placement.objects.filter(reservation__in=ids, is_current=True).update(
        is_current=False, booked_until=Greatest("booked_from", now)
    )
    Placement.objects.bulk_create(
        placement_of(row, lease=leases[row.pk], device=devices[leases[row.pk].device_id], now=now) for row in rows
    )
    for row in rows:
        row.state = S.CONFIRMED if row.starts_at > now else S.ACTIVATING
        row.version += 1
        row.lease_id, row.device_id = leases[row.pk].id, leases[row.pk].device_id
