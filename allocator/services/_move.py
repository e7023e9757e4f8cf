"""The one way a lease changes state: a guarded write and its event row."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import F

from allocator.errors import LeaseLost
from allocator.models import Lease, LeaseEvent
from allocator.models.lease import ALLOWED
from plumbing.db import transaction_required
from vxpu.states import LeaseState


@transaction_required
def change(*, lease: Lease, **fields: Any) -> None:
    """Write `fields` if the lease is still as it was read, and bump its version. Raises LeaseLost."""
    seen = Lease.objects.filter(pk=lease.pk, state=lease.state, token=lease.token, version=lease.version)
    if not seen.update(**fields, version=F("version") + 1):
        raise LeaseLost(f"Lease {lease.pk} is no longer {lease.state}.", suggestion="Read it again.")
    for name, value in fields.items():
        setattr(lease, name, value)
    lease.version += 1


@transaction_required
def move(*, lease: Lease, to: LeaseState, actor: str, reason: str, now: datetime, **fields: Any) -> None:
    """`lease` -> `to`, with more `fields` in the same write. Raises LeaseLost for a move that is not legal."""
    old = LeaseState(lease.state)
    if to not in ALLOWED[old]:
        raise LeaseLost(f"A lease that is {old} cannot become {to}.", suggestion="Read it again.")
    change(lease=lease, state=to, **fields)
    note(lease=lease, from_state=old, actor=actor, reason=reason, now=now)


def note(*, lease: Lease, from_state: str, actor: str, reason: str, now: datetime) -> None:
    """The event row of a move, or of a finding when the state stayed."""
    LeaseEvent.objects.create(
        tenant_id=lease.tenant_id,
        created_at=now,
        lease=lease,
        from_state=from_state,
        to_state=lease.state,
        actor=actor,
        reason=reason[:400],
        at=now,
    )
