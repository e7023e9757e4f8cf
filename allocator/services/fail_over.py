"""Give up what silent nodes ran, once their agents have closed the gates for certain: fenced in batches."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Q

from allocator.events import LeasesLost, LeasesUnreachable
from allocator.models import Lease, Node
from allocator.models.node import NodeState
from allocator.services import self_fence, watch
from allocator.services._node_note import note_nodes
from plumbing import db, outbox
from plumbing.beside import side_by_side
from plumbing.db import transaction_required
from vxpu.states import LeaseState

log = logging.getLogger(__name__)

# How many nodes in one transaction.
AT_ONCE = 40
REASON = "node_lost"

# First the locks, by id: what was changed while they were waited for is seen by the next statement.
_LOCK = """
SELECT array_agg(id)::text FROM (
    SELECT id FROM allocator_lease
     WHERE node_id = ANY (%(nodes)s) AND state NOT IN ('gone', 'lost') ORDER BY id FOR NO KEY UPDATE) locked
"""
# All leases of silent nodes together; as `_end.lose` does it for one: a newer token, what was taken stays on record up
# to now, the bucket is rated. Who is not `unreachable` yet goes by way of it, which counts two; then the silence is
# noted as `watch` does.
_LOSE = """
WITH due AS MATERIALIZED (
    SELECT l.id, l.tenant_id, l.owner, l.node_id, l.state, l.ready_at, coalesce(n.last_seen_at, %(now)s) AS since,
           l.state <> 'unreachable' AS is_news
      FROM allocator_lease l JOIN allocator_node n ON n.id = l.node_id
     WHERE l.node_id = ANY (%(nodes)s) AND l.id = ANY (%(locked)s::uuid[]) AND NOT l.pinned
       AND (l.state = 'unreachable' OR l.state = ANY (%(watched)s) AND l.offered_at IS NOT NULL
            OR l.state = 'assigned' AND l.offered_at IS NULL AND l.starts_at <= %(now)s)
), moved AS (
    UPDATE allocator_lease l SET state = 'lost', ended_at = %(now)s, end_reason = %(reason)s, fenced_token = token,
           token = nextval('allocator_fencing'), version = version + CASE WHEN due.is_news THEN 2 ELSE 1 END
      FROM due WHERE l.id = due.id
), freed AS (
    UPDATE allocator_segment s SET live = false, period = CASE
        WHEN lower(period) < %(now)s AND (upper(period) IS NULL OR upper(period) > %(now)s)
        THEN tstzrange(lower(period), %(now)s) ELSE period END
      FROM due WHERE s.lease_id = due.id AND s.live
), noted AS (
    INSERT INTO allocator_leaseevent (id, tenant_id, created_at, lease_id, from_state, to_state, actor, reason, at)
    SELECT uuidv7(), tenant_id, %(now)s, id, from_state, to_state, 'allocator', why, %(now)s
      FROM due, LATERAL (VALUES (1, state, 'unreachable', 'node silent'), (2, 'unreachable', 'lost', %(reason)s))
                e (step, from_state, to_state, why)
     WHERE is_news OR step = 2 ORDER BY step
), silent AS (
    INSERT INTO allocator_leaseoutage (id, tenant_id, created_at, lease_id, silent_since, authority_until)
    SELECT gen_random_uuid(), tenant_id, %(now)s, id, since, since + %(authority)s
      FROM due WHERE is_news AND ready_at IS NOT NULL
), dirty AS (
    INSERT INTO allocator_dirtyhour AS d (id, tenant_id, created_at, lease_id, owner, starts_at)
    SELECT gen_random_uuid(), tenant_id, %(now)s, id, owner, bucket FROM (
        SELECT DISTINCT ON (id, bucket) id, tenant_id, owner, bucket
          FROM due, LATERAL (SELECT to_timestamp(floor(extract(epoch FROM at) / %(period)s) * %(period)s) AS bucket
                               FROM unnest(CASE WHEN is_news THEN ARRAY[since, %(now)s] ELSE ARRAY[%(now)s] END) at) b
         WHERE ready_at IS NOT NULL ORDER BY id, bucket) b
    ON CONFLICT (lease_id, starts_at) DO UPDATE SET created_at = greatest(d.created_at, excluded.created_at)
)
SELECT node_id, count(*), count(*) FILTER (WHERE is_news) FROM due GROUP BY node_id
"""


def watch_nodes(*, now: datetime) -> int:
    """Nodes that fell silent go offline, and what they ran is given up once their agents have closed the gates for
    certain: at once, as a rule. Returns how many leases that were."""
    verdicts = [partial(_judge, node_ids=part, now=now) for part in watch.silent_nodes(now=now)]
    return sum(side_by_side(verdicts)) + give_up(now=now)


@db.transaction
def _judge(*, node_ids: Sequence[UUID], now: datetime) -> int:
    nodes = watch.take_offline(node_ids=node_ids, now=now)
    closed = now - self_fence.margin()
    over = [node for node in nodes if node.authority_until is not None and node.authority_until < closed]
    lost = _lose(over if self_fence.comes_first() else [], now=now)
    watch.lose_sight(nodes=nodes, now=now)  # who is pinned, and whose agent may still trust itself
    return lost


def give_up(*, now: datetime) -> int:
    """Fence the leases of silent nodes whose agents' authority is over; returns how many leases.

    A pinned lease waits for its node. What was booked there and should have begun is given up too. Nothing is done
    while the settings do not prove that the agent's own fence comes first.
    """
    if not self_fence.comes_first():
        log.error("Nothing fails over: VXPU_AUTHORITY_S + VXPU_FENCE_MARGIN_S reach VXPU_FAILURE_TIMEOUT_S")
        return 0
    silent = Node.objects.filter(
        state=NodeState.ACTIVE, is_online=False, authority_until__lt=now - self_fence.margin()
    ).values("pk")
    lost = Lease.objects.filter(_is_lost(now), node__in=silent).order_by().values_list("node", flat=True)
    nodes = sorted(set(lost))
    return sum(_give_up(node_ids=nodes[first : first + AT_ONCE], now=now) for first in range(0, len(nodes), AT_ONCE))


def _is_lost(now: datetime) -> Q:
    told = Q(state=LeaseState.UNREACHABLE)
    never_told = Q(state=LeaseState.ASSIGNED, offered_at__isnull=True, starts_at__lte=now)
    return (told | never_told) & Q(pinned=False)


@db.transaction
def _give_up(*, node_ids: Sequence[UUID], now: datetime) -> int:
    locked = Node.objects.select_for_update(no_key=True).filter(
        pk__in=node_ids, state=NodeState.ACTIVE, is_online=False, authority_until__lt=now - self_fence.margin()
    )
    return _lose(list(locked.order_by("pk")), now=now)


@transaction_required
def _lose(nodes: Sequence[Node], *, now: datetime) -> int:
    """Locked nodes that are offline."""
    values: dict[str, Any] = {
        "nodes": [node.pk for node in nodes], "watched": list(watch.WATCHED), "now": now, "reason": REASON,
        "authority": timedelta(seconds=settings.VXPU_AUTHORITY_S), "period": settings.VXPU_RATING_PERIOD_S,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, values)
        (locked,) = cursor.fetchone()
        cursor.execute(_LOSE, values | {"locked": locked})
        rows = cursor.fetchall()
    if not rows:
        return 0
    lost: dict[UUID, int] = {node_id: leases for node_id, leases, _ in rows}
    note_nodes(
        nodes=[node for node in nodes if node.pk in lost], kind="given_up", actor="allocator",
        reason="its agent has closed the gates; its leases are placed anew", now=now,
    )  # fmt: skip
    leases, news = sum(lost.values()), sum(news for _, _, news in rows)
    operator = settings.VXPU_OPERATOR_TENANT
    if news:
        outbox.publish(LeasesUnreachable(tenant_id=operator, at=now, leases=news))
    outbox.publish(LeasesLost(tenant_id=operator, at=now, leases=leases))
    return leases
