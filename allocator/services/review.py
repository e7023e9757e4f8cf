"""A person looks at a window that was not counted, and lets it count or not."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from allocator.errors import ReviewClosed
from allocator.models import QuarantinedUsage
from allocator.models.usage import ALLOWED, ReviewState, UsageVerdict
from allocator.services._windows import Measured, store
from allocator.services.partitions import day_of, ensure_partitions
from plumbing import db
from plumbing.errors import NotFound
from vxpu.wire.usage import UsageEvent, UsageStatus


def release_quarantined(*, quarantine_id: UUID, now: datetime) -> UsageStatus:
    """Count it, once. DUPLICATE or CONFLICT if its key is taken by now; the row is closed in each case.

    Raises NotFound, and ReviewClosed for a row that was reviewed before or that was not quarantined.
    """
    row = QuarantinedUsage.objects.filter(pk=quarantine_id).first()
    if row is None:
        raise NotFound(f"There is no quarantined usage {quarantine_id}.")
    if row.verdict != UsageVerdict.QUARANTINED or row.lease is None:
        raise ReviewClosed(f"It is {row.verdict}: only quarantined windows can be released.")
    event = UsageEvent.model_validate(row.event)
    ensure_partitions(days=[day_of(event.data.window_start)])
    return _release(quarantine_id=quarantine_id, event=event, now=now)


@db.transaction
def _release(*, quarantine_id: UUID, event: UsageEvent, now: datetime) -> UsageStatus:
    _close(quarantine_id, ReviewState.RELEASED, now)
    row = QuarantinedUsage.objects.select_related("lease").get(pk=quarantine_id)
    if row.lease is None:
        raise ReviewClosed("It belongs to no lease.")
    return store(measured=[Measured(event=event, lease=row.lease)], received_at=now)[0]


@db.transaction
def dismiss_quarantined(*, quarantine_id: UUID, now: datetime) -> None:
    """It will never count. Raises ReviewClosed."""
    _close(quarantine_id, ReviewState.DISMISSED, now)


def _close(quarantine_id: UUID, to: ReviewState, now: datetime) -> None:
    open_states = [state for state, targets in ALLOWED.items() if to in targets]
    won = QuarantinedUsage.objects.filter(pk=quarantine_id, state__in=open_states).update(state=to, reviewed_at=now)
    if not won:
        raise ReviewClosed(f"Quarantined usage {quarantine_id} was reviewed before.")
