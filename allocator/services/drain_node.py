"""Take a node out of service in good order, and put it back."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, Q

from allocator.errors import IllegalPeriod
from allocator.locks import lock_node
from allocator.models import Lease, Maintenance, Node
from allocator.models.lease import LIVE
from allocator.models.node import NodeState
from allocator.selectors.maintenance import find_open
from allocator.services import empty_node
from allocator.services._node_note import capacity_freed, note_node
from allocator.services.cordon import close_doors, lock_node_of_fleet
from plumbing import db
from plumbing.db import transaction_required

AHEAD = timedelta(days=366)


@db.transaction
def drain(*, node_id: UUID, reason: str, at: datetime | None, actor: str, now: datetime, move: bool = False) -> None:
    """A maintenance from `at` (None: now) until `undrain`: no new lease reaches into it, none is prolonged into it.

    Leases that are booked stay; with `move` those that run and can go elsewhere are moved once it has begun.
    Idempotent: a drain that has begun keeps its start and its reason; one that is to come is planned anew. Raises
    NotFound, NodeLeftFleet, IllegalPeriod.
    """
    if at is not None and not now <= at <= now + AHEAD:
        raise IllegalPeriod(
            f"A drain begins now or within {AHEAD.days} days.", suggestion="Leave `at` out to drain at once."
        )
    node = lock_node_of_fleet(node_id=node_id)
    if move:
        empty_node.begin(node=node, reason=reason, actor=actor, now=now)
    starts_at = at or now
    period = find_open(node_id=node.pk)
    if period is not None and (period.starts_at <= now or (period.starts_at, period.reason) == (starts_at, reason)):
        return
    values = {"starts_at": starts_at, "reason": reason, "started_by": actor[:80]}
    if period is None:
        operator = settings.VXPU_OPERATOR_TENANT
        Maintenance.objects.create(tenant_id=operator, created_at=now, node=node, **values)
    else:
        Maintenance.objects.filter(pk=period.pk, ends_at__isnull=True).update(**values)
    if starts_at > now:
        close_doors(node=node)
        note_node(node=node, kind="drain_planned", actor=actor, reason=f"{starts_at.isoformat()}: {reason}", now=now)
        return
    _begin(node=node, actor=actor, reason=reason, now=now)
    _settle_one(node=node, now=now)


@db.transaction
def undrain(*, node_id: UUID, actor: str, now: datetime) -> None:
    """Back in service: the maintenance ends and so does the cordon, and what has not moved stays. Idempotent.

    Raises NotFound, NodeLeftFleet.
    """
    node = lock_node_of_fleet(node_id=node_id)
    period = find_open(node_id=node.pk)
    if period is None:
        return
    empty_node.call_off(node=node, actor=actor, now=now)
    ended = Maintenance.objects.filter(pk=period.pk, ends_at__isnull=True)
    ended.update(ends_at=max(now, period.starts_at), ended_by=actor[:80])
    if period.starts_at <= now:
        Node.objects.filter(pk=node.pk).update(cordoned_at=None)
    note_node(node=node, kind="undrained", actor=actor, reason=period.reason, now=now)
    capacity_freed(node=node, now=now)


def settle(*, now: datetime) -> list[UUID]:
    """What the clock and the leases' ends changed, a transaction a node: drains that begin, nodes that are empty."""
    due = Maintenance.objects.filter(ends_at__isnull=True, drained_at__isnull=True, starts_at__lte=now)
    busy = Exists(Lease.objects.filter(node=OuterRef("node"), state__in=LIVE))
    changing = due.filter(node__state="active").filter(Q(node__cordoned_at__isnull=True) | ~busy)
    node_ids = list(changing.order_by("node_id").values_list("node_id", flat=True))
    return [node_id for node_id in node_ids if _settle(node_id=node_id, now=now)]


@db.transaction
def _settle(*, node_id: UUID, now: datetime) -> bool:
    node = lock_node(node_id=node_id)
    period = find_open(node_id=node.pk)
    if node.state != NodeState.ACTIVE or period is None or period.starts_at > now or period.drained_at is not None:
        return False
    if node.cordoned_at is None:
        _begin(node=node, actor=period.started_by, reason=period.reason, now=now)
    _settle_one(node=node, now=now)
    return True


@transaction_required
def _begin(*, node: Node, actor: str, reason: str, now: datetime) -> None:
    Node.objects.filter(pk=node.pk, cordoned_at__isnull=True).update(cordoned_at=now)
    close_doors(node=node)
    note_node(node=node, kind="draining", actor=actor, reason=reason, now=now)


@transaction_required
def _settle_one(*, node: Node, now: datetime) -> None:
    """Drained as soon as no lease, running or booked, is left."""
    if Lease.objects.filter(node=node, state__in=LIVE).exists():
        return
    open_ones = Maintenance.objects.filter(node=node, ends_at__isnull=True, drained_at__isnull=True)
    if open_ones.update(drained_at=now):
        note_node(node=node, kind="drained", actor="allocator", reason="no lease is left", now=now)
