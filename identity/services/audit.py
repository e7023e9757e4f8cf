"""The audit log: appended in the transaction of what it tells, chained by hash so that a change shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from identity import locks, selectors
from identity.errors import AuditChainBroken
from identity.models import AuditEvent
from plumbing import db

NOTHING_BEFORE = bytes(32)


def _digest(event: AuditEvent) -> bytes:
    content = json.dumps(
        [str(event.tenant_id), event.seq, event.created_at.astimezone(UTC).isoformat(timespec="microseconds"),
         str(event.actor_id or ""), event.action, event.subject, event.data],
        sort_keys=True, separators=(",", ":"), ensure_ascii=True,
    )  # fmt: skip
    return hashlib.sha256(bytes(event.previous_digest) + content.encode()).digest()


@db.transaction_required
def record(
    *, tenant_id: UUID, actor_id: UUID | None, action: str, subject: str, now: datetime,
    data: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Append an event to the tenant's chain; `actor_id` None is the system. `data` holds JSON types, never secrets."""
    locks.lock_audit_chain(tenant_id=tenant_id)
    last = selectors.find_last_audit_event(tenant_id=tenant_id)
    event = AuditEvent(
        tenant_id=tenant_id, seq=last.seq + 1 if last else 1, actor_id=actor_id, action=action, subject=subject,
        data=dict(data or {}), created_at=now, previous_digest=bytes(last.digest) if last else NOTHING_BEFORE,
    )  # fmt: skip
    event.digest = _digest(event)
    event.save(force_insert=True)


def verify(*, tenant_id: UUID) -> int:
    """Walk the chain; returns the number of events. Raises AuditChainBroken with the first `seq` that does not fit."""
    expected, count = NOTHING_BEFORE, 0
    for event in selectors.list_audit_events(tenant_id=tenant_id).order_by("seq").iterator():
        count += 1
        intact = bytes(event.previous_digest) == expected and bytes(event.digest) == _digest(event)
        if event.seq != count or not intact:
            raise AuditChainBroken(f"Event {event.seq} does not follow from the one before.", seq=event.seq)
        expected = bytes(event.digest)
    return count
