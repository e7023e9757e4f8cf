"""Sequence numbers only find holes; the natural key counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from allocator.models import Lease, UsageCursor, UsageGap
from plumbing.db import transaction_required

Hole = tuple[int, int]


@dataclass(slots=True, kw_only=True)
class Arrived:
    """Of one lease: the numbers that came, counted or not, and the end of the newest window that counted."""

    lease: Lease
    seqs: list[int]
    counted_until: datetime | None = None


def missing(seqs: Iterable[int], *, from_seq: int, to_seq: int) -> list[Hole]:
    """Closed ranges of [from_seq, to_seq] that are not among `seqs`."""
    holes: list[Hole] = []
    due = from_seq
    for seq in sorted({seq for seq in seqs if from_seq <= seq <= to_seq}):
        if seq > due:
            holes.append((due, seq - 1))
        due = seq + 1
    if due <= to_seq:
        holes.append((due, to_seq))
    return holes


@transaction_required
def follow(*, arrivals: Sequence[Arrived], now: datetime) -> None:
    """Advance each lease's cursor, open gaps for what was skipped, fill those that a late arrival closes."""
    arrivals = sorted(arrivals, key=lambda one: one.lease.pk)
    leases = [one.lease for one in arrivals]
    UsageCursor.objects.bulk_create(
        [UsageCursor(tenant_id=lease.tenant_id, created_at=now, lease=lease) for lease in leases],
        ignore_conflicts=True,
    )
    cursors = UsageCursor.objects.select_for_update(no_key=True).filter(lease__in=leases).order_by("lease_id")
    by_lease = {cursor.lease_id: cursor for cursor in cursors}
    opened: list[UsageGap] = []
    for one in arrivals:
        lease, arrived, cursor = one.lease, one.seqs, by_lease[one.lease.pk]
        if min(arrived) < cursor.next_seq:
            opened += _fill(lease, [seq for seq in arrived if seq < cursor.next_seq], now)
        last = max(arrived)
        holes = missing(arrived, from_seq=cursor.next_seq, to_seq=last)
        opened += [_gap(lease, hole, now) for hole in holes]
        cursor.next_seq = max(cursor.next_seq, last + 1)
        if one.counted_until and (cursor.counted_until is None or cursor.counted_until < one.counted_until):
            cursor.counted_until = one.counted_until
    UsageCursor.objects.bulk_update(by_lease.values(), ["next_seq", "counted_until"])
    UsageGap.objects.bulk_create(opened)


def _fill(lease: Lease, late: Sequence[int], now: datetime) -> list[UsageGap]:
    """Close the gaps that `late` touches; what is still missing of them is opened anew."""
    rest: list[UsageGap] = []
    touched = UsageGap.objects.filter(
        lease=lease, closed_at__isnull=True, first_seq__lte=max(late), last_seq__gte=min(late)
    )
    for gap in touched:
        holes = missing(late, from_seq=gap.first_seq, to_seq=gap.last_seq)
        if holes == [(gap.first_seq, gap.last_seq)]:
            continue
        gap.closed_at = now
        gap.save(update_fields=["closed_at"])
        rest += [_gap(lease, hole, now) for hole in holes]
    return rest


def _gap(lease: Lease, hole: Hole, now: datetime) -> UsageGap:
    return UsageGap(tenant_id=lease.tenant_id, created_at=now, lease=lease, first_seq=hole[0], last_seq=hole[1])
