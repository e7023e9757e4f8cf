"""Reads of how long things lasted."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from marketplace.models import TAKES_CAPACITY, Reservation

MOST = 10_000


def list_open_ended() -> list[tuple[UUID, UUID, datetime]]:
    """(lease, tenant, start) of what takes capacity without an end, by start."""
    rows = Reservation.objects.filter(state__in=TAKES_CAPACITY, ends_at=None, lease_id__isnull=False)
    found = rows.order_by("starts_at", "id").values_list("lease_id", "tenant_id", "starts_at")
    return [(lease_id, tenant_id, since) for lease_id, tenant_id, since in found if lease_id is not None]


def list_ended_open(*, since: datetime) -> list[tuple[UUID, datetime, datetime]]:
    """(tenant, start, end) of what had no end when it was bought and has ended since, the latest of them."""
    rows = Reservation.objects.filter(ends_at=None, lease_id__isnull=False, ended_at__gte=since)
    found = rows.order_by("-ended_at", "id").values_list("tenant_id", "starts_at", "ended_at")[:MOST]
    return [(tenant_id, since, until) for tenant_id, since, until in found if until is not None]
