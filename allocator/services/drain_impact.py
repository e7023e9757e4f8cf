"""What a drain would touch, and what of it could be moved: each lease that would stay is named with the reason."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from allocator.models import Lease
from allocator.selectors.impact import ImpactView, list_impact
from allocator.selectors.staying import stays
from allocator.services._elsewhere import find_elsewhere

# A look over the fleet for each: of more than these nobody reads the list.
LOOKS = 200


def foresee_drain(*, node_id: UUID, at: datetime, now: datetime) -> ImpactView:
    """With `stays` for each running lease: one of STAYS, or empty if a drain with moves would move it. Changes nothing.

    Beyond the first 200 that may be moved nobody looks whether there is room.
    """
    seen = list_impact(node_id=node_id, at=at, now=now)
    leases = Lease.objects.select_related("device", "node__pool", "node__site").annotate(stays=stays(now=now))
    found = {lease.pk: lease for lease in leases.filter(pk__in=[one.id for one in seen.running])}
    why = {pk: lease.stays for pk, lease in found.items()}
    free = [pk for pk, reason in sorted(why.items()) if not reason][:LOOKS]
    why |= {pk: "no_room" for pk in free if find_elsewhere(lease=found[pk], now=now) is None}
    return replace(seen, stays=why)
