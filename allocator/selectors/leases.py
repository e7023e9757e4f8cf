"""Reads of leases."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db.models import QuerySet

from allocator.models import Lease, LeaseEvent
from plumbing.errors import NotFound
from vxpu.market import LeaseView
from vxpu.slices import Period, Slice
from vxpu.states import Isolation, LeaseState


def view_of(lease: Lease) -> LeaseView:
    """The frozen value of a row."""
    return LeaseView(
        id=lease.pk,
        tenant_id=lease.tenant_id,
        owner=lease.owner,
        device_id=lease.device_id,
        node_id=lease.node_id,
        state=LeaseState(lease.state),
        slice=Slice(memory_mib=lease.memory_mib, share_permille=lease.share_permille),
        period=Period(starts_at=lease.starts_at, ends_at=lease.ends_at),
        token=lease.token,
        version=lease.version,
        isolation=Isolation(lease.isolation),
        ready_at=lease.ready_at,
        ended_at=lease.ended_at,
        end_reason=lease.end_reason,
        hold_until=lease.hold_until,
    )


def get_lease(*, lease_id: UUID) -> Lease:
    """The row, if the caller's scope shows it. Raises NotFound."""
    lease = Lease.objects.filter(pk=lease_id).first()
    if lease is None:
        raise NotFound(f"There is no lease {lease_id}.")
    return lease


def list_leases(*, owners: Iterable[UUID]) -> list[Lease]:
    """By start, then id."""
    return list(Lease.objects.filter(owner__in=list(owners)).order_by("starts_at", "pk"))


def leases() -> QuerySet[Lease]:
    """Every lease that the caller's scope shows, for paging."""
    return Lease.objects.all()


def list_events(*, lease_id: UUID) -> list[LeaseEvent]:
    """Oldest first."""
    return list(LeaseEvent.objects.filter(lease_id=lease_id).order_by("at", "created_at", "pk"))
