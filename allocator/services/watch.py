"""Which nodes have fallen silent; and the server's own pulse, so that its pauses are not held against them."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings

from allocator.events import LeaseUnreachable
from allocator.models import Lease, LeaseOutage, Node, Pulse
from allocator.models.node import NodeState
from allocator.services._dirty import mark_dirty
from allocator.services._move import move
from allocator.services._node_note import note_node
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


@db.transaction
def mark_unreachable(*, now: datetime) -> list[UUID]:
    """Nodes not heard for the failure timeout go offline and their leases become `unreachable`, never ended.

    The time counts only while the server was up to hear them: this watch and, once it ever beat, the sockets' process.
    """
    timeout = timedelta(seconds=settings.VXPU_FAILURE_TIMEOUT_S)
    watch = _beat(WATCH, now)
    door = Pulse.objects.filter(part=DOOR).first()
    if door is not None and now - door.beat_at > pulse_gap():
        return []
    up_since = watch.up_since if door is None else max(watch.up_since, door.up_since)
    if now - up_since < timeout:
        return []
    silent = Node.objects.select_for_update(no_key=True).filter(
        state=NodeState.ACTIVE, is_online=True, last_seen_at__lte=now - timeout
    )
    nodes = list(silent.order_by("pk"))
    for node in nodes:
        node.is_online = False
        node.save(update_fields=["is_online"])
        note_node(node=node, kind="offline", actor="allocator", reason="not heard for the failure timeout", now=now)
        _lose_sight(node, now)
    return [node.pk for node in nodes]


@transaction_required
def _lose_sight(node: Node, now: datetime) -> None:
    silent_since = node.last_seen_at or now
    authority = timedelta(seconds=settings.VXPU_AUTHORITY_S)
    leases = Lease.objects.select_for_update(no_key=True).filter(node=node, state__in=WATCHED, offered_at__isnull=False)
    for lease in leases.order_by("pk"):
        move(lease=lease, to=LeaseState.UNREACHABLE, actor="allocator", reason="node silent", now=now)
        if lease.ready_at is not None:
            LeaseOutage.objects.create(
                tenant_id=lease.tenant_id,
                created_at=now,
                lease=lease,
                silent_since=silent_since,
                authority_until=silent_since + authority,
            )
            mark_dirty(leases=[lease], at=silent_since, now=now)
            mark_dirty(leases=[lease], at=now, now=now)
        outbox.publish(LeaseUnreachable(tenant_id=lease.tenant_id, lease_id=lease.pk, owner=lease.owner, at=now))
