"""Give a lease back, or fence it off."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import connection

from allocator.errors import LeaseLost
from allocator.locks import lock_lease
from allocator.models import Lease
from allocator.services._end import drain, lose
from allocator.services._move import move
from allocator.services._moving import cancel_open
from plumbing.db import transaction_required
from vxpu.states import LeaseState

ENDED = (LeaseState.GONE, LeaseState.LOST)


@transaction_required
def release(*, lease_id: UUID, reason: str, now: datetime) -> Lease:
    """Idempotent. A lease that a node runs drains until the node says that it is gone; its capacity is taken so long.

    An unreachable one stays so, with its end set: the node drains it when it is back.
    """
    lease = lock_lease(lease_id=lease_id)
    if lease.state in (*ENDED, LeaseState.DRAINING):
        return lease
    if lease.state == LeaseState.UNREACHABLE and lease.ends_at is not None and lease.ends_at <= now:
        return lease
    cancel_open(lease=lease, reason=reason, actor="marketplace", now=now)
    drain(lease=lease, actor="marketplace", reason=reason, now=now)
    return lease


@transaction_required
def fence(*, lease_id: UUID, reason: str, now: datetime) -> Lease:
    """UNREACHABLE -> LOST by a newer token. Idempotent. Raises LeaseLost for a lease whose node is heard."""
    lease = lock_lease(lease_id=lease_id)
    if lease.state in ENDED:
        return lease
    if lease.state != LeaseState.UNREACHABLE and not lease.node.is_online and lease.offered_at is not None:
        move(lease=lease, to=LeaseState.UNREACHABLE, actor="allocator", reason=reason, now=now)
    if lease.state != LeaseState.UNREACHABLE:
        raise LeaseLost(f"Lease {lease.pk} is {lease.state} on a node that is heard.", suggestion="Release it.")
    lose(lease=lease, token=next_token(), actor="allocator", reason=reason, now=now)
    return lease


def next_token() -> int:
    """A fencing token above every one that was given before."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('allocator_fencing')")
        return int(cursor.fetchone()[0])
