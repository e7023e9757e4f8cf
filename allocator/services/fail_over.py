"""Give up what silent nodes ran, once their agents have closed the gates for certain: fenced in batches."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Q

from allocator.events import LeasesLost
from allocator.models import Lease, LeaseEvent, Node
from allocator.models.node import NodeState
from allocator.services import self_fence
from allocator.services._dirty import mark_dirty
from allocator.services._move import move_all
from allocator.services._node_note import note_nodes
from plumbing import db, outbox
from plumbing.db import transaction_required
from vxpu.states import LeaseState

log = logging.getLogger(__name__)

# How many nodes in one transaction.
AT_ONCE = 40
REASON = "node_lost"

_LOSE = """
UPDATE allocator_lease SET state = 'lost', ended_at = %(now)s, end_reason = %(reason)s, fenced_token = token,
       token = nextval('allocator_fencing'), version = version + 1
 WHERE id = ANY (%(leases)s) AND state = 'unreachable'
"""
# As `_end.end` does it for one: what was taken stays on record up to now.
_FREE = """
UPDATE allocator_segment SET live = false, period = CASE
    WHEN lower(period) < %(now)s AND (upper(period) IS NULL OR upper(period) > %(now)s)
    THEN tstzrange(lower(period), %(now)s) ELSE period END
 WHERE lease_id = ANY (%(leases)s) AND live
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
    found = Lease.objects.select_for_update(no_key=True).filter(_is_lost(now), node__in=nodes)
    leases = list(found.order_by("pk"))
    if not leases:
        return 0
    waiting = [lease for lease in leases if lease.state == LeaseState.ASSIGNED]
    move_all(leases=waiting, to=LeaseState.UNREACHABLE, reason="node silent", now=now)
    _fence(leases, now)
    hit = {lease.node_id for lease in leases}
    note_nodes(
        nodes=[node for node in nodes if node.pk in hit], kind="given_up", actor="allocator",
        reason="its agent has closed the gates; its leases are placed anew", now=now,
    )  # fmt: skip
    outbox.publish(LeasesLost(tenant_id=settings.VXPU_OPERATOR_TENANT, at=now, leases=len(leases)))
    return len(leases)


@transaction_required
def _fence(leases: Sequence[Lease], now: datetime) -> None:
    """Unreachable leases, locked by id -> LOST under newer tokens; their capacity is free."""
    ids = [lease.pk for lease in leases]
    with connection.cursor() as cursor:
        cursor.execute(_LOSE, {"now": now, "reason": REASON, "leases": ids})
        if cursor.rowcount != len(ids):
            raise RuntimeError(f"{len(ids)} leases are locked, {cursor.rowcount} were lost")
        cursor.execute(_FREE, {"now": now, "leases": ids})
    LeaseEvent.objects.bulk_create(
        LeaseEvent(
            tenant_id=lease.tenant_id, created_at=now, lease=lease, from_state=LeaseState.UNREACHABLE,
            to_state=LeaseState.LOST, actor="allocator", reason=REASON, at=now,
        )
        for lease in leases
    )  # fmt: skip
    mark_dirty(leases=leases, at=now, now=now)
