"""Reads of leases."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from allocator.models import Lease, LeaseEvent
from plumbing import feed
from plumbing.errors import NotFound
from vxpu.market import LeaseEventView, LeaseView
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


def list_lost(*, since: datetime) -> list[UUID]:
    """By id."""
    lost = Lease.objects.filter(state=LeaseState.LOST, ended_at__gte=since)
    return list(lost.order_by("pk").values_list("pk", flat=True))


def leases() -> QuerySet[Lease]:
    """Every lease that the caller's scope shows, for paging."""
    return Lease.objects.all()


# What a tenant should hear of; everything else is told by the reservation's own transitions.
NEWS = Q(to_state__in=[LeaseState.UNREACHABLE, LeaseState.LOST]) | (
    Q(from_state=LeaseState.UNREACHABLE) & ~Q(to_state=LeaseState.GONE)
)


def list_news(
    *,
    tenant_id: UUID | None,
    owners: Collection[UUID] | None,
    lease_id: UUID | None,
    before: feed.Place | None,
    limit: int,
) -> list[LeaseEvent]:
    """Silences, recoveries and losses, newest first. None is every tenant, owner, lease."""
    rows = LeaseEvent.objects.select_related("lease").filter(NEWS)
    if tenant_id is not None:
        rows = rows.filter(tenant_id=tenant_id)
    if owners is not None:
        rows = rows.filter(lease__owner__in=owners)
    if lease_id is not None:
        rows = rows.filter(lease_id=lease_id)
    return feed.newest(rows, column="at", before=before, limit=limit)


def news_view_of(event: LeaseEvent) -> LeaseEventView:
    """The frozen value of a row."""
    return LeaseEventView(
        id=event.pk,
        tenant_id=event.tenant_id,
        lease_id=event.lease_id,
        owner=event.lease.owner,
        from_state=event.from_state,
        to_state=event.to_state,
        actor=event.actor,
        reason=event.reason,
        at=event.at,
    )


def list_events(*, lease_id: UUID) -> list[LeaseEvent]:
    """Oldest first."""
    return list(LeaseEvent.objects.filter(lease_id=lease_id).order_by("at", "created_at", "pk"))
