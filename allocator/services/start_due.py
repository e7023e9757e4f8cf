"""What the clock changed: leases that begin or end, and new sizes that take effect."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from allocator.models import Lease, Segment
from allocator.models.lease import ON_NODE
from allocator.services._end import drain, why_over
from plumbing import db
from vxpu.states import LeaseState

# Longer than the beat's interval. A poke too many is harmless.
LOOK_BACK = timedelta(seconds=3)


def start_due(*, now: datetime) -> list[UUID]:
    """Drain what is over, a transaction each; returns the online nodes that should read their orders, by id."""
    for lease_id in _list_over(now):
        _drain_one(lease_id=lease_id, now=now)
    begun = Lease.objects.filter(
        state=LeaseState.ASSIGNED, starts_at__lte=now, offered_at__isnull=True, node__is_online=True
    ).values_list("node_id", flat=True)
    resized = Segment.objects.filter(
        live=True,
        lease__state__in=ON_NODE,
        lease__node__is_online=True,
        period__startswith__gt=now - LOOK_BACK,
        period__startswith__lte=now,
    ).values_list("lease__node_id", flat=True)
    ended = Lease.objects.filter(
        state=LeaseState.DRAINING, drain_at__gt=now - LOOK_BACK, node__is_online=True
    ).values_list("node_id", flat=True)
    return sorted({*begun, *resized, *ended})


def _list_over(now: datetime) -> list[UUID]:
    over = Lease.objects.filter(state__in=ON_NODE, ends_at__lte=now).exclude(state=LeaseState.UNREACHABLE)
    return list(over.order_by("pk").values_list("pk", flat=True))


@db.transaction
def _drain_one(*, lease_id: UUID, now: datetime) -> None:
    lease = Lease.objects.select_for_update(no_key=True).get(pk=lease_id)
    if lease.state in ON_NODE and lease.ends_at is not None and lease.ends_at <= now:
        drain(lease=lease, actor="allocator", reason=why_over(lease), now=now)
