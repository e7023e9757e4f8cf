"""Which nodes have fallen silent; and the server's own pulse, so that its pauses are not held against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from allocator.events import LeasesUnreachable
from allocator.models import Lease, LeaseOutage, Node, Pulse
from allocator.models.node import NodeState
from allocator.services._dirty import bucket_of, mark_buckets
from allocator.services._move import move_all
from allocator.services._node_note import note_nodes
from plumbing import db, outbox
from plumbing.db import transaction_required
from vxpu.states import LeaseState

WATCH = "watch"
DOOR = "door"
WATCHED = (
    LeaseState.ASSIGNED,
    LeaseState.PREPARING,
    LeaseState.READY,
    LeaseState.SUSPENDED,
    LeaseState.DRAINING,
)


# How many nodes are judged in one transaction: a heartbeat may wait for it.
AT_ONCE = 40
WAITS = "node silent; asked for on this device, so it waits for the node"


def pulse_gap() -> timedelta:
    """A part that was quiet for longer was down."""
    return timedelta(seconds=max(5, settings.VXPU_FAILURE_TIMEOUT_S // 3))


@db.transaction
def beat(*, part: str, now: datetime) -> None:
    """A part of the server says that it runs."""
    _beat(part, now)


def _beat(part: str, now: datetime) -> Pulse:
    operator = settings.VXPU_OPERATOR_TENANT
    fresh = {"tenant_id": operator, "created_at": now, "beat_at": now, "up_since": now}
    pulse, is_new = Pulse.objects.select_for_update(no_key=True).get_or_create(part=part, defaults=fresh)
    if not is_new:
        if now - pulse.beat_at > pulse_gap():
            pulse.up_since = now
        pulse.beat_at = max(pulse.beat_at, now)
        pulse.save(update_fields=["beat_at", "up_since"])
    return pulse


def mark_unreachable(*, now: datetime) -> list[UUID]:
    """Nodes not heard for the failure timeout go offline and their leases become `unreachable`, never ended.

    The time counts only while the server was up to hear them: this watch and, once it ever beat, the sockets' process.
    """
    if not _was_up_to_hear(now=now):
        return []
    timeout = timedelta(seconds=settings.VXPU_FAILURE_TIMEOUT_S)
    silent = list(_silent(now - timeout).order_by("pk").values_list("pk", flat=True))
    parts = [silent[first : first + AT_ONCE] for first in range(0, len(silent), AT_ONCE)]
    return [node_id for part in parts for node_id in _take_offline(node_ids=part, now=now)]


@db.transaction
def _was_up_to_hear(*, now: datetime) -> bool:
    watch = _beat(WATCH, now)
    door = Pulse.objects.filter(part=DOOR).first()
    if door is not None and now - door.beat_at > pulse_gap():
        return False
    up_since = watch.up_since if door is None else max(watch.up_since, door.up_since)
    return now - up_since >= timedelta(seconds=settings.VXPU_FAILURE_TIMEOUT_S)


def _silent(since: datetime) -> QuerySet[Node]:
    return Node.objects.filter(state=NodeState.ACTIVE, is_online=True, last_seen_at__lte=since)


@db.transaction
def _take_offline(*, node_ids: Sequence[UUID], now: datetime) -> list[UUID]:
    """Those that were not heard meanwhile."""
    timeout = timedelta(seconds=settings.VXPU_FAILURE_TIMEOUT_S)
    locked = _silent(now - timeout).select_for_update(no_key=True).filter(pk__in=node_ids)
    nodes = list(locked.order_by("pk"))
    Node.objects.filter(pk__in=[node.pk for node in nodes]).update(is_online=False)
    note_nodes(nodes=nodes, kind="offline", actor="allocator", reason="not heard for the failure timeout", now=now)
    _lose_sight(nodes, now)
    return [node.pk for node in nodes]


@transaction_required
def _lose_sight(nodes: Sequence[Node], now: datetime) -> None:
    leases = Lease.objects.select_for_update(no_key=True).filter(
        node__in=nodes, state__in=WATCHED, offered_at__isnull=False
    )
    found = list(leases.order_by("pk"))
    for pinned, reason in ((False, "node silent"), (True, WAITS)):
        alike = [lease for lease in found if lease.pinned is pinned]
        move_all(leases=alike, to=LeaseState.UNREACHABLE, reason=reason, now=now)
    silent_since = {node.pk: node.last_seen_at or now for node in nodes}
    _open_outages([lease for lease in found if lease.ready_at is not None], silent_since, now)
    if found:
        operator = settings.VXPU_OPERATOR_TENANT
        outbox.publish(LeasesUnreachable(tenant_id=operator, at=now, leases=len(found)))


def _open_outages(leases: Sequence[Lease], silent_since: Mapping[UUID, datetime], now: datetime) -> None:
    authority = timedelta(seconds=settings.VXPU_AUTHORITY_S)
    LeaseOutage.objects.bulk_create(
        LeaseOutage(
            tenant_id=lease.tenant_id,
            created_at=now,
            lease=lease,
            silent_since=silent_since[lease.node_id],
            authority_until=silent_since[lease.node_id] + authority,
        )
        for lease in leases
    )
    keys = [(lease, bucket_of(at)) for lease in leases for at in (silent_since[lease.node_id], now)]
    mark_buckets(keys=keys, now=now)
