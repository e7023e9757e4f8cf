"""The end of a lease: capacity back, facts kept, news told."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import connection

from allocator.events import CapacityFreed, DesiredChanged, LeaseEnded, LeaseLost
from allocator.models import Lease
from allocator.models.lease import ON_NODE
from allocator.services._dirty import mark_dirty
from allocator.services._keep import keep_room
from allocator.services._move import change, move
from plumbing import outbox
from plumbing.db import transaction_required
from vxpu.states import LeaseState

# What was taken stays on record up to the end; a part that never came is dead as it stands.
_FREE = """
UPDATE allocator_segment SET live = false, period = CASE
    WHEN lower(period) < %(now)s AND (upper(period) IS NULL OR upper(period) > %(now)s)
    THEN tstzrange(lower(period), %(now)s) ELSE period END
WHERE lease_id = %(lease)s AND live
"""


@transaction_required
def end(*, lease: Lease, actor: str, reason: str, now: datetime) -> None:
    """GONE: only on the agent's word, or before any node was told."""
    code = (lease.end_reason or reason)[:64]
    move(lease=lease, to=LeaseState.GONE, actor=actor, reason=reason, now=now, ended_at=now, end_reason=code)
    _free(lease, now)
    keep_room(lease=lease, now=now)
    outbox.publish(LeaseEnded(tenant_id=lease.tenant_id, lease_id=lease.pk, owner=lease.owner, at=now, reason=code))
    operator = settings.VXPU_OPERATOR_TENANT
    outbox.publish(CapacityFreed(tenant_id=operator, device_id=lease.device_id, at=now))


@transaction_required
def lose(*, lease: Lease, token: int, actor: str, reason: str, now: datetime) -> None:
    """LOST: fenced by a newer token. The node may not know yet; what it still measures within authority counts."""
    move(
        lease=lease, to=LeaseState.LOST, actor=actor, reason=reason, now=now,
        ended_at=now, end_reason=reason[:64], fenced_token=lease.token, token=token,
    )  # fmt: skip
    _free(lease, now)
    outbox.publish(LeaseLost(tenant_id=lease.tenant_id, lease_id=lease.pk, owner=lease.owner, at=now, reason=reason))
    desired_changed(lease)


@transaction_required
def drain(*, lease: Lease, actor: str, reason: str, now: datetime) -> None:
    """Ask for the end. A lease that no node was told of is gone at once; a silent node's stays unreachable."""
    ends_at = lease.ends_at
    if now > lease.starts_at:  # a period that never began keeps its end: an empty one says nothing
        ends_at = now if ends_at is None else min(ends_at, now)
    if lease.state == LeaseState.HELD or (lease.state in ON_NODE and lease.offered_at is None):
        change(lease=lease, ends_at=ends_at, end_reason=reason)
        end(lease=lease, actor=actor, reason=reason, now=now)
    elif lease.state == LeaseState.UNREACHABLE:
        change(lease=lease, ends_at=ends_at, end_reason=lease.end_reason or reason)
    else:
        move(
            lease=lease, to=LeaseState.DRAINING, actor=actor, reason=reason, now=now,
            ends_at=ends_at, drain_at=now, end_reason=reason,
        )  # fmt: skip
        mark_dirty(leases=[lease], at=now, now=now)
    desired_changed(lease)


def _free(lease: Lease, now: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_FREE, {"now": now, "lease": lease.pk})
    mark_dirty(leases=[lease], at=now, now=now)


def why_over(lease: Lease) -> str:
    """What ends a lease whose time has come."""
    return lease.end_reason or lease.notice_reason or "expired"


def desired_changed(lease: Lease) -> None:
    """Have the node poked once this is committed."""
    outbox.publish(DesiredChanged(tenant_id=settings.VXPU_OPERATOR_TENANT, node_id=lease.node_id))
