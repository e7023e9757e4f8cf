"""Which nodes have fallen silent; and the server's own pulse, so that its pauses are not held against them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import QuerySet

from allocator.events import LeasesUnreachable
from allocator.models import Lease, Node, Pulse
from allocator.models.node import NodeState
from allocator.services._ahead import AHEAD
from allocator.services._node_note import note_nodes
from plumbing import db, outbox
from plumbing.beside import part_size
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


# All leases of silent nodes in one statement, locked by id: their move, its row, the silence, and the rating buckets in
# which that begins and is noticed (as `_dirty` marks them).
_LOSE_SIGHT = """
WITH due AS MATERIALIZED (
    SELECT l.id, l.tenant_id, l.owner, l.state, l.pinned, l.ready_at, coalesce(n.last_seen_at, %(now)s) AS since
      FROM allocator_lease l JOIN allocator_node n ON n.id = l.node_id
     WHERE l.node_id = ANY (%(nodes)s) AND l.state = ANY (%(states)s) AND l.offered_at IS NOT NULL
     ORDER BY l.id FOR NO KEY UPDATE OF l
), moved AS (
    UPDATE allocator_lease l SET state = 'unreachable', version = version + 1
      FROM due WHERE l.id = due.id RETURNING l.id
), noted AS (
    INSERT INTO allocator_leaseevent (id, tenant_id, created_at, lease_id, from_state, to_state, actor, reason, at)
    SELECT gen_random_uuid(), tenant_id, %(now)s, id, state, 'unreachable', 'allocator',
           CASE WHEN pinned THEN %(waits)s ELSE 'node silent' END, %(now)s FROM due
), silent AS (
    INSERT INTO allocator_leaseoutage (id, tenant_id, created_at, lease_id, silent_since, authority_until)
    SELECT gen_random_uuid(), tenant_id, %(now)s, id, since, since + %(authority)s FROM due WHERE ready_at IS NOT NULL
), dirty AS (
    INSERT INTO allocator_dirtyhour AS d (id, tenant_id, created_at, lease_id, owner, starts_at)
    SELECT gen_random_uuid(), tenant_id, %(now)s, id, owner, bucket FROM (
        SELECT DISTINCT ON (id, bucket) id, tenant_id, owner, bucket
          FROM due, LATERAL (SELECT to_timestamp(floor(extract(epoch FROM at) / %(period)s) * %(period)s) AS bucket
                               FROM unnest(ARRAY[since, %(now)s]) at) b
         WHERE ready_at IS NOT NULL ORDER BY id, bucket) b
    ON CONFLICT (lease_id, starts_at) DO UPDATE SET created_at = greatest(d.created_at, excluded.created_at)
)
SELECT count(*) FROM moved
"""
# How many nodes are judged in one transaction: a heartbeat may wait for it.
AT_ONCE = 40
WAITS = "node silent; asked for on this device, so it waits for the node"


class Leaving(NamedTuple):
    """Nodes that are about to be given up, and whose leases would be lost with them."""

    nodes: frozenset[UUID]
    owners: set[UUID]


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
    """Nodes not heard for the failure timeout go offline and their leases become `unreachable`, never ended."""
    return [node_id for part in silent_nodes(now=now) for node_id in _mark_part(node_ids=part, now=now)]


def silent_nodes(*, now: datetime) -> list[list[UUID]]:
    """Nodes not heard for the failure timeout, by id, in parts of at most AT_ONCE.

    The time counts only while the server was up to hear them: this watch and, once it ever beat, the sockets' process.
    """
    if not _was_up_to_hear(now=now):
        return []
    timeout = timedelta(seconds=settings.VXPU_FAILURE_TIMEOUT_S)
    silent = list(_silent(now - timeout).order_by("pk").values_list("pk", flat=True))
    most = part_size(len(silent), AT_ONCE)
    return [silent[first : first + most] for first in range(0, len(silent), most)]


def list_leaving(*, now: datetime) -> Leaving:
    """Nodes that will have been silent for the failure timeout in a few seconds, unless they are heard by then."""
    timeout = timedelta(seconds=settings.VXPU_FAILURE_TIMEOUT_S)
    nodes = list(_silent(now - timeout + min(AHEAD, timeout / 3)).values_list("pk", flat=True))
    leases = Lease.objects.filter(node__in=nodes, state__in=WATCHED, pinned=False)
    return Leaving(frozenset(nodes), set(leases.values_list("owner", flat=True)))


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
def _mark_part(*, node_ids: Sequence[UUID], now: datetime) -> list[UUID]:
    nodes = take_offline(node_ids=node_ids, now=now)
    lose_sight(nodes=nodes, now=now)
    return [node.pk for node in nodes]


@transaction_required
def take_offline(*, node_ids: Sequence[UUID], now: datetime) -> list[Node]:
    """Those that were not heard meanwhile, locked."""
    timeout = timedelta(seconds=settings.VXPU_FAILURE_TIMEOUT_S)
    locked = _silent(now - timeout).select_for_update(no_key=True).filter(pk__in=node_ids)
    nodes = list(locked.order_by("pk"))
    Node.objects.filter(pk__in=[node.pk for node in nodes]).update(is_online=False)
    note_nodes(nodes=nodes, kind="offline", actor="allocator", reason="not heard for the failure timeout", now=now)
    return nodes


@transaction_required
def lose_sight(*, nodes: Sequence[Node], now: datetime) -> None:
    """What these nodes were told to run becomes `unreachable`."""
    values: dict[str, Any] = {
        "nodes": [node.pk for node in nodes], "states": list(WATCHED), "now": now, "waits": WAITS,
        "authority": timedelta(seconds=settings.VXPU_AUTHORITY_S), "period": settings.VXPU_RATING_PERIOD_S,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_LOSE_SIGHT, values)
        (found,) = cursor.fetchone()
    if found:
        operator = settings.VXPU_OPERATOR_TENANT
        outbox.publish(LeasesUnreachable(tenant_id=operator, at=now, leases=found))
