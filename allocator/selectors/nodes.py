"""Nodes as they are shown to operators. Callers are in the system scope."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, IntegerField, OuterRef, Prefetch, QuerySet, Subquery
from django.db.models.functions import Coalesce

from allocator.models import Device, Lease, Maintenance, Node, NodeEvent
from allocator.models.lease import LIVE
from allocator.models.maintenance import DrainState
from plumbing import feed
from plumbing.errors import NotFound
from vxpu.market import NodeEventView


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainView:
    """`started_at` may lie ahead (`planned`); it is None without a drain."""

    state: DrainState
    started_at: datetime | None = None
    drained_at: datetime | None = None
    reason: str = ""
    started_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """`lease_count` counts what takes capacity, booked leases too."""

    id: UUID
    hostname: str
    rack: str
    pool: str
    site: str
    host_cores_milli: int | None
    host_mib: int | None
    agent_version: str
    state: str
    is_online: bool
    last_seen_at: datetime | None
    clock_offset_ms: int | None
    created_at: datetime
    cordoned: bool
    standby: bool
    settling_since: datetime | None
    drain: DrainView
    device_count: int
    lease_count: int


def nodes() -> QuerySet[Node]:
    """Every node, revoked ones too, for paging; with what `view_of` needs."""
    devices = Device.objects.filter(node=OuterRef("pk"), is_present=True)
    leases = Lease.objects.filter(node=OuterRef("pk"), state__in=LIVE)
    open_ones = Maintenance.objects.filter(ends_at__isnull=True)
    return (
        Node.objects.select_related("pool", "site", "host")
        .prefetch_related(Prefetch("maintenance", open_ones, to_attr="open_maintenance"))
        .annotate(device_count=_count(devices), lease_count=_count(leases))
    )


def _count(rows: QuerySet[Device] | QuerySet[Lease]) -> Coalesce:
    counted = rows.order_by().values("node").annotate(number=Count("pk")).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def view_of(node: Node, *, now: datetime) -> NodeView:
    """The frozen value of a row of `nodes()`."""
    return NodeView(
        id=node.pk,
        hostname=node.hostname,
        rack=node.rack,
        pool="" if node.pool is None else node.pool.name,
        site="" if node.site is None else node.site.name,
        host_cores_milli=node.host.capacity_cores_milli,
        host_mib=node.host.capacity_mib,
        agent_version=node.agent_version,
        state=node.state,
        is_online=node.is_online,
        last_seen_at=node.last_seen_at,
        clock_offset_ms=node.clock_offset_ms,
        created_at=node.created_at,
        cordoned=node.cordoned_at is not None,
        standby=node.standby,
        settling_since=node.settling_since,
        drain=drain_of(next(iter(getattr(node, "open_maintenance", [])), None), now=now),
        device_count=getattr(node, "device_count", 0),
        lease_count=getattr(node, "lease_count", 0),
    )


def drain_state(*, starts_at: datetime | None, drained_at: datetime | None, now: datetime) -> DrainState:
    """What follows from the times of an open maintenance (None: there is none) and the clock."""
    if starts_at is None:
        return DrainState.NONE
    if starts_at > now:
        return DrainState.PLANNED
    return DrainState.DRAINING if drained_at is None else DrainState.DRAINED


def drain_of(period: Maintenance | None, *, now: datetime) -> DrainView:
    """Of a node's open maintenance, None if there is none."""
    if period is None:
        return DrainView(state=DrainState.NONE)
    return DrainView(
        state=drain_state(starts_at=period.starts_at, drained_at=period.drained_at, now=now),
        started_at=period.starts_at,
        drained_at=period.drained_at,
        reason=period.reason,
        started_by=period.started_by,
    )


def get_node(*, node_id: UUID, now: datetime) -> NodeView:
    """Raises NotFound."""
    node = nodes().filter(pk=node_id).first()
    if node is None:
        raise NotFound(f"There is no node {node_id}.")
    return view_of(node, now=now)


def node_events() -> QuerySet[NodeEvent]:
    """For paging."""
    return NodeEvent.objects.select_related("node")


def event_view_of(event: NodeEvent) -> NodeEventView:
    """The frozen value of a row."""
    return NodeEventView(
        id=event.pk,
        node_id=event.node_id,
        hostname=event.node.hostname,
        kind=event.kind,
        actor=event.actor,
        reason=event.reason,
        at=event.at,
    )


def list_events_before(*, before: feed.Place | None, limit: int) -> list[NodeEvent]:
    """Newest first."""
    return feed.newest(node_events(), column="at", before=before, limit=limit)
