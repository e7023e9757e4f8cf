"""Reads of nodes that are out of service on purpose. They are the operator's rows: callers are in the system scope."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import F, Q

from allocator.models import Maintenance
from vxpu.market import MaintenanceView


def list_maintenance(*, from_at: datetime, to_at: datetime | None) -> list[Maintenance]:
    """Of all nodes, what reaches into [from_at, to_at), by start. Called-off ones are empty and left out."""
    still_to_end = Q(ends_at__isnull=True) | Q(ends_at__gt=from_at)
    found = Maintenance.objects.filter(still_to_end).exclude(ends_at=F("starts_at"))
    if to_at is not None:
        found = found.filter(starts_at__lt=to_at)
    return list(found.order_by("starts_at", "pk"))


def find_open(*, node_id: UUID) -> Maintenance | None:
    """The maintenance that the node is in or is to come into."""
    return Maintenance.objects.filter(node_id=node_id, ends_at__isnull=True).first()


def view_of(period: Maintenance) -> MaintenanceView:
    """The frozen value of a row."""
    return MaintenanceView(
        node_id=period.node_id,
        starts_at=period.starts_at,
        ends_at=period.ends_at,
        drained_at=period.drained_at,
        reason=period.reason,
    )
