"""Take a batch of measured windows, exactly once each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from allocator.events import UsageArrived
from allocator.models import Lease, QuarantinedUsage
from allocator.services._batch import Item, inflate, parse
from allocator.services._gaps import Arrived, follow
from allocator.services._judge import Rules, judge, window_end
from allocator.services._windows import Measured, store
from allocator.services.authenticate import check_signature
from allocator.services.partitions import day_of, ensure_partitions
from plumbing import db, outbox
from plumbing.db import transaction_required
from vxpu.ids import BadId, decode, encode
from vxpu.wire.usage import UsageAnswer, UsageResult, UsageStatus


@dataclass(slots=True, kw_only=True)
class _Judged:
    """An item on its way through: its lease if the node has it, and the verdict so far."""

    item: Item
    lease: Lease | None
    status: UsageStatus
    reason: str


def ingest(*, node_id: UUID, body: bytes, encoding: str, signature: bytes, now: datetime) -> UsageAnswer:
    """One verdict an item. Nothing of a batch is stored if this raises: BadSignature, BadBatch, BatchTooLarge.

    `signature` is over `body` as sent. Safe to repeat, in any order, by any number of senders.
    """
    check_signature(node_id=node_id, body=body, signature=signature, now=now)
    items = parse(inflate(body, encoding))
    judged = _judge_all(items, node_id, now)
    accepted = [one for one in judged if one.status == UsageStatus.ACCEPTED]
    ensure_partitions(days={day_of(one.item.event.data.window_start) for one in accepted if one.item.event})
    _write(judged=judged, node_id=node_id, now=now)
    return UsageAnswer(results=[UsageResult(id=one.item.id, status=one.status, reason=one.reason) for one in judged])


def _lease_id(subject: str) -> UUID | None:
    try:
        return decode("lse", subject)
    except BadId:
        return None


def _judge_all(items: Sequence[Item], node_id: UUID, now: datetime) -> list[_Judged]:
    rules = Rules(
        node_id=node_id,
        source=f"/agents/{encode('nod', node_id)}",
        received_at=now,
        window_s=settings.VXPU_WINDOW_S,
        late_limit=timedelta(seconds=settings.VXPU_LATE_LIMIT_S),
    )
    ids = {subject: _lease_id(subject) for subject in {item.event.subject for item in items if item.event}}
    leases = Lease.objects.in_bulk([lease_id for lease_id in ids.values() if lease_id is not None])
    by_subject = {subject: leases.get(lease_id) for subject, lease_id in ids.items() if lease_id is not None}
    judged = []
    for item in items:
        if item.event is None:
            judged.append(_Judged(item=item, lease=None, status=UsageStatus.REJECTED, reason=item.reason))
            continue
        lease = by_subject.get(item.event.subject)
        status, reason = judge(item.event, lease, rules)
        judged.append(_Judged(item=item, lease=lease, status=status, reason=reason))
    return judged


@db.transaction
def _write(*, judged: Sequence[_Judged], node_id: UUID, now: datetime) -> None:
    counting = [one for one in judged if one.status == UsageStatus.ACCEPTED]
    measured = [Measured(event=one.item.event, lease=one.lease) for one in counting if one.item.event and one.lease]
    for one, status in zip(counting, store(measured=measured, received_at=now), strict=True):
        one.status = status
        if status == UsageStatus.CONFLICT:
            one.reason = "another_payload_was_counted"
    _keep(judged, node_id, now)
    _follow_sequences(judged, now)


def _keep(judged: Sequence[_Judged], node_id: UUID, now: datetime) -> None:
    """What did not count stays for review; the same event is kept once."""
    kept = (UsageStatus.CONFLICT, UsageStatus.QUARANTINED, UsageStatus.REJECTED)
    rows = [_quarantine_row(one, node_id, now) for one in judged if one.status in kept]
    if rows:
        QuarantinedUsage.objects.bulk_create(rows, ignore_conflicts=True)


def _quarantine_row(one: _Judged, node_id: UUID, now: datetime) -> QuarantinedUsage:
    event: Any = one.item.event.model_dump(mode="json") if one.item.event else {"raw": one.item.raw}
    own = one.lease is not None and one.lease.node_id == node_id
    # NUL cannot be stored as JSON text; an escaped copy can.
    text = json.dumps(event, sort_keys=True).replace("\\u0000", "\\\\u0000")
    return QuarantinedUsage(
        tenant_id=one.lease.tenant_id if own and one.lease else settings.VXPU_OPERATOR_TENANT,
        created_at=now,
        node_id=node_id,
        lease=one.lease if own else None,
        payload_digest=hashlib.sha256(text.encode()).digest(),
        event=json.loads(text),
        verdict=one.status.value,
        reason=one.reason,
        received_at=now,
    )


@transaction_required
def _follow_sequences(judged: Sequence[_Judged], now: datetime) -> None:
    """Whatever is this node's has arrived, counted or not: it is no gap."""
    arrivals: dict[str, Arrived] = {}
    for one in judged:
        event = one.item.event
        if event is None or one.lease is None or one.status == UsageStatus.REJECTED:
            continue
        of_lease = arrivals.setdefault(event.subject, Arrived(lease=one.lease, seqs=[]))
        of_lease.seqs.append(event.data.seq)
        if one.status == UsageStatus.ACCEPTED:
            end = window_end(event)
            of_lease.counted_until = max(end, of_lease.counted_until or end)
    if arrivals:
        follow(arrivals=list(arrivals.values()), now=now)
    fresh = [one.lease for one in arrivals.values() if one.counted_until is not None]
    # The dirty buckets are the truth; one hint for each tenant wakes the rating.
    for lease in {lease.tenant_id: lease for lease in fresh}.values():
        outbox.publish(UsageArrived(tenant_id=lease.tenant_id, lease_id=lease.pk))
