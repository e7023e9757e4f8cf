"""Give up what silent nodes ran, once their agents have closed the gates for certain: fenced in batches."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Q

from allocator.events import LeasesLost
from allocator.models import Lease, Node
from allocator.models.node import NodeState
from allocator.services import self_fence
from allocator.services._dirty import bucket_of
from allocator.services._node_note import note_nodes
from plumbing import db, outbox
from vxpu.states import LeaseState

log = logging.getLogger(__name__)

# How many nodes in one transaction.
AT_ONCE = 40
REASON = "node_lost"

# All leases of silent nodes in two statements, locked by id; a lease moves once a statement. First those that no node
# was told of are unreachable too.
_UNREACHABLE = """
WITH due AS MATERIALIZED (
    SELECT id, tenant_id FROM allocator_lease
     WHERE node_id = ANY (%(nodes)s) AND state = 'assigned' AND offered_at IS NULL AND starts_at <= %(now)s
       AND NOT pinned
     ORDER BY id FOR NO KEY UPDATE
), moved AS (
    UPDATE allocator_lease l SET state = 'unreachable', version = version + 1 FROM due WHERE l.id = due.id
)
INSERT INTO allocator_leaseevent (id, tenant_id, created_at, lease_id, from_state, to_state, actor, reason, at)
SELECT gen_random_uuid(), tenant_id, %(now)s, id, 'assigned', 'unreachable', 'allocator', 'node silent', %(now)s
  FROM due
"""
# Then, as `_end.lose` does it for one: a newer token, what was taken stays on record up to now, the bucket is rated.
_LOSE = """
WITH due AS MATERIALIZED (
    SELECT id, tenant_id, owner, node_id, ready_at FROM allocator_lease
     WHERE node_id = ANY (%(nodes)s) AND state = 'unreachable' AND NOT pinned ORDER BY id FOR NO KEY UPDATE
), moved AS (
    UPDATE allocator_lease l SET state = 'lost', ended_at = %(now)s, end_reason = %(reason)s, fenced_token = token,
           token = nextval('allocator_fencing'), version = version + 1
      FROM due WHERE l.id = due.id
), freed AS (
    UPDATE allocator_segment s SET live = false, period = CASE
        WHEN lower(period) < %(now)s AND (upper(period) IS NULL OR upper(period) > %(now)s)
        THEN tstzrange(lower(period), %(now)s) ELSE period END
      FROM due WHERE s.lease_id = due.id AND s.live
), noted AS (
    INSERT INTO allocator_leaseevent (id, tenant_id, created_at, lease_id, from_state, to_state, actor, reason, at)
    SELECT gen_random_uuid(), tenant_id, %(now)s, id, 'unreachable', 'lost', 'allocator', %(reason)s, %(now)s FROM due
), dirty AS (
    INSERT INTO allocator_dirtyhour AS d (id, tenant_id, created_at, lease_id, owner, starts_at)
    SELECT gen_random_uuid(), tenant_id, %(now)s, id, owner, %(bucket)s FROM due WHERE ready_at IS NOT NULL ORDER BY id
    ON CONFLICT (lease_id, starts_at) DO UPDATE SET created_at = greatest(d.created_at, excluded.created_at)
)
SELECT node_id, count(*) FROM due GROUP BY node_id
"""


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
    nodes = list(locked.order_by("pk"))
    values: dict[str, Any] = {
        "nodes": [node.pk for node in nodes],
        "now": now,
        "reason": REASON,
        "bucket": bucket_of(now),
    }
    with connection.cursor() as cursor:
        cursor.execute(_UNREACHABLE, values)
        cursor.execute(_LOSE, values)
        lost = dict(cursor.fetchall())
    if not lost:
        return 0
    note_nodes(
        nodes=[node for node in nodes if node.pk in lost], kind="given_up", actor="allocator",
        reason="its agent has closed the gates; its leases are placed anew", now=now,
    )  # fmt: skip
    leases = sum(lost.values())
    outbox.publish(LeasesLost(tenant_id=settings.VXPU_OPERATOR_TENANT, at=now, leases=leases))
    return leases
