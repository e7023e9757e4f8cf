"""Delivered time and measured use. Delivered time is the calendar's, in whole seconds; see `allocator_delivered`."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection
from django.db.models import Max, Sum
from psycopg.types.range import TimestamptzRange

from allocator.models import Lease, QuarantinedUsage, UsageGap, UsageWindow
from vxpu.market import IdleReport, Phase, UsageReport, UsageWindowView
from vxpu.slices import Slice, dominant_permille
from vxpu.states import LeaseState

LONGEST_WINDOW = timedelta(hours=1)

_DELIVERED = """
SELECT device_id, permille, mib, device_mib, span FROM allocator_delivered(NULL, %s, %s) ORDER BY lower(span)
"""


def _is_open(lease: Lease, ends_at: datetime, now: datetime) -> bool:
    """Whether the end of the last phase may still move."""
    if lease.state in (LeaseState.GONE, LeaseState.LOST):
        return False
    if lease.state == LeaseState.UNREACHABLE:
        return True
    return lease.ends_at is None or (ends_at < lease.ends_at and now < lease.ends_at)


def list_phases(*, lease: Lease, now: datetime) -> list[Phase]:
    """In order of time, without overlap; empty before the first ready."""
    with connection.cursor() as cursor:
        cursor.execute(_DELIVERED, [lease.pk, now])
        rows: list[tuple[UUID, int, int, int, TimestamptzRange]] = cursor.fetchall()
    phases = []
    for number, (device_id, permille, mib, device_mib, span) in enumerate(rows, start=1):
        piece = Slice(memory_mib=mib, share_permille=permille)
        if span.lower is None or span.upper is None:
            raise ValueError(f"delivered time of lease {lease.pk} has no end")
        phases.append(
            Phase(
                starts_at=span.lower,
                ends_at=span.upper,
                slice=piece,
                dominant_permille=dominant_permille(piece, device_memory_mib=device_mib),
                device_id=device_id,
                open=number == len(rows) and _is_open(lease, span.upper, now),
            )
        )
    return phases


def used_permille_s(*, lease_id: UUID, starts_at: datetime, ends_at: datetime) -> int:
    """Sum of the windows that start in [starts_at, ends_at)."""
    windows = UsageWindow.objects.filter(lease_id=lease_id, window_start__gte=starts_at, window_start__lt=ends_at)
    return int(windows.aggregate(total=Sum("used_permille_s"))["total"] or 0)


def throttled_permille(*, lease_id: UUID, starts_at: datetime, ends_at: datetime) -> int | None:
    """How much of the time of the windows that start in [starts_at, ends_at) the slice was held back at its share.

    None when no window tells. Threads that wait side by side can add up to more than the time: 1000 is the most.
    """
    windows = UsageWindow.objects.filter(
        lease_id=lease_id, window_start__gte=starts_at, window_start__lt=ends_at, throttled_ms__isnull=False
    )
    sums = windows.aggregate(throttled=Sum("throttled_ms"), seconds=Sum("window_s"))
    return None if not sums["seconds"] else min(int(sums["throttled"]) // int(sums["seconds"]), 1000)


def unread_spans(*, lease_id: UUID, starts_at: datetime, ends_at: datetime) -> list[tuple[datetime, datetime]]:
    """Where windows were measured that could not tell the use, within [starts_at, ends_at): in order, joined."""
    windows = UsageWindow.objects.filter(
        lease_id=lease_id, used_permille_s__isnull=True, window_start__lt=ends_at,
        window_start__gt=starts_at - LONGEST_WINDOW,
    )  # fmt: skip
    found: list[tuple[datetime, datetime]] = []
    for start, window_s in windows.order_by("window_start").values_list("window_start", "window_s"):
        first, last = max(start, starts_at), min(start + timedelta(seconds=window_s), ends_at)
        if first >= last:
            continue
        if found and found[-1][1] >= first:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def device_idle(*, device_id: UUID, starts_at: datetime, ends_at: datetime) -> IdleReport:
    """One sweep over the calendar of delivered time, independent of every charge."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT idle, over, taken FROM allocator_idle(%s, %s, %s)", [device_id, starts_at, ends_at])
        idle, over, taken = cursor.fetchone()
    return IdleReport(
        device_id=device_id,
        starts_at=starts_at,
        ends_at=ends_at,
        idle_permille_s=idle,
        over_permille_s=over,
        taken_permille_s=taken,
    )


def usage_report(*, lease_id: UUID) -> UsageReport:
    """Windows in order of time; sums over all of them."""
    windows = UsageWindow.objects.filter(lease_id=lease_id).order_by("window_start")
    sums = windows.aggregate(used=Sum("used_permille_s"), granted=Sum("granted_permille_s"), peak=Max("peak_mib"))
    gaps = UsageGap.objects.filter(lease_id=lease_id, closed_at__isnull=True)
    seen = tuple(
        UsageWindowView(
            window_start=window.window_start,
            window_s=window.window_s,
            granted_permille_s=window.granted_permille_s,
            used_permille_s=window.used_permille_s,
            peak_mib=window.peak_mib,
            throttled_ms=window.throttled_ms,
            contended=window.contended,
            state=LeaseState(window.state),
        )
        for window in windows
    )
    return UsageReport(
        lease_id=lease_id,
        windows_counted=len(seen),
        used_permille_s=None if seen and sums["used"] is None else int(sums["used"] or 0),
        granted_permille_s=int(sums["granted"] or 0),
        peak_mib=sums["peak"],
        seqs_missing=sum(gap.last_seq - gap.first_seq + 1 for gap in gaps),
        quarantined=QuarantinedUsage.objects.filter(lease_id=lease_id, state="pending").count(),
        windows=seen,
    )
