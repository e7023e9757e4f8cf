"""Whom a drain of a node would touch. Callers are in the system scope; names of tenants are not known here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from allocator.models import Lease
from allocator.models.lease import LIVE
from allocator.selectors.leases import view_of
from vxpu.market import LeaseView


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactView:
    """Leases that reach beyond `at`: those that have begun, and those that are booked for later, each by start.

    `stays` says of those that run why a drain with moves would leave one (`services/drain_impact.py`).
    """

    node_id: UUID
    at: datetime
    running: tuple[LeaseView, ...]
    booked: tuple[LeaseView, ...]
    stays: Mapping[UUID, str] = field(default_factory=dict)

    @property
    def affected_tenants(self) -> int:
        return len({lease.tenant_id for lease in (*self.running, *self.booked)})


def list_impact(*, node_id: UUID, at: datetime, now: datetime) -> ImpactView:
    """Holds count as booked unless they have lapsed."""
    reaching = Q(ends_at__isnull=True) | Q(ends_at__gt=at) | Q(state__in=["draining", "unreachable"])
    found = Lease.objects.filter(reaching, node_id=node_id, state__in=LIVE).exclude(state="held", hold_until__lte=now)
    leases = [view_of(lease) for lease in found.order_by("starts_at", "pk")]
    return ImpactView(
        node_id=node_id,
        at=at,
        running=tuple(lease for lease in leases if lease.period.starts_at <= now),
        booked=tuple(lease for lease in leases if lease.period.starts_at > now),
    )
