"""What an agent says of its leases, taken for true where the fencing token is the lease's own."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from allocator.events import LeaseActivated, LeaseRecovered
from allocator.models import Lease, LeaseOutage
from allocator.models.lease import ALLOWED
from allocator.services._dirty import bucket_of, mark_dirty
from allocator.services._end import end, why_over
from allocator.services._move import move, note
from allocator.services.relocate import hook_answered
from plumbing import outbox
from plumbing.db import transaction_required
from vxpu.ids import BadId, decode
from vxpu.states import LeaseState
from vxpu.wire.node import HookDone, LeaseReport

# States that an agent may report. The others are the server's own words.
SAYABLE = frozenset(
    {LeaseState.PREPARING, LeaseState.READY, LeaseState.SUSPENDED, LeaseState.DRAINING, LeaseState.GONE}
)


# No transaction of a heartbeat is so long.
LONGEST_COMMIT = timedelta(minutes=5)


def by_lease(reports: Iterable[LeaseReport]) -> dict[UUID, LeaseReport]:
    """Reports whose id can be read; what else an agent names is none of ours and will be absent from its orders."""
    found = {}
    for report in reports:
        try:
            found[decode("lse", report.lease_id)] = report
        except BadId:
            continue
    return found


@transaction_required
def apply_report(*, lease: Lease, report: LeaseReport, now: datetime) -> None:
    """Legal moves are made, others wait for a later report. A report under another token is void."""
    if report.token != lease.token:
        return
    for finding in report.events:
        note(lease=lease, from_state=lease.state, actor="agent", reason=finding, now=now)
    _note_isolation(lease, report)
    if report.hook is not None:
        _hook_answered(lease, report.hook, now)
    to = report.state
    if to == lease.state or to not in SAYABLE or to not in ALLOWED[LeaseState(lease.state)]:
        return
    if to == LeaseState.GONE:
        _gone(lease, report, now)
        return
    was_unreachable = lease.state == LeaseState.UNREACHABLE
    fields: dict[str, datetime] = {}
    activates = to == LeaseState.READY and lease.ready_at is None
    if activates:
        fields["ready_at"] = now
    if to == LeaseState.DRAINING:
        fields["drain_at"] = now
    move(lease=lease, to=to, actor="agent", reason=report.reason, now=now, **fields)
    if activates:
        _activated(lease, now)
    if was_unreachable:
        _recovered(lease, now)


def _note_isolation(lease: Lease, report: LeaseReport) -> None:
    if report.isolation is not None and report.isolation != lease.isolation and not lease.whole:
        Lease.objects.filter(pk=lease.pk, token=lease.token).update(isolation=report.isolation)
        lease.isolation = report.isolation


def _hook_answered(lease: Lease, done: HookDone, now: datetime) -> None:
    try:
        relocation_id = decode("mov", done.id)
    except BadId:  # not a move's
        return
    hook_answered(lease=lease, relocation_id=relocation_id, result=done.result, detail=done.detail, now=now)


def _gone(lease: Lease, report: LeaseReport, now: datetime) -> None:
    expired = lease.ends_at is not None and lease.ends_at <= now
    end(lease=lease, actor="agent", reason=why_over(lease) if expired else report.reason or "ended_by_node", now=now)
    close_outage(lease=lease, now=now)


def _activated(lease: Lease, now: datetime) -> None:
    """Its bucket is rated with its first use, or once it is over; only one that ends in a moment could be rated before
    this is committed, and must be again."""
    if bucket_of(now + LONGEST_COMMIT) != bucket_of(now):
        mark_dirty(leases=[lease], at=now, now=now)
    outbox.publish(LeaseActivated(tenant_id=lease.tenant_id, lease_id=lease.pk, owner=lease.owner, at=now))


def _recovered(lease: Lease, now: datetime) -> None:
    close_outage(lease=lease, now=now)
    mark_dirty(leases=[lease], at=now, now=now)
    outbox.publish(LeaseRecovered(tenant_id=lease.tenant_id, lease_id=lease.pk, owner=lease.owner, at=now))


def close_outage(*, lease: Lease, now: datetime) -> None:
    """The node is heard again; the time in between stays undelivered."""
    LeaseOutage.objects.filter(lease=lease, recovered_at__isnull=True).update(recovered_at=now)
