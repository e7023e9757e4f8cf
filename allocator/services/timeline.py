"""The calendar of the fleet over a range, from one snapshot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Q
from psycopg.types.range import TimestamptzRange

from allocator.engine.calendar import free_spans, lanes
from allocator.engine.fleet import Ask, sort_key
from allocator.models import Device, Maintenance, Segment
from allocator.models.segment import ModeClass
from allocator.selectors import maintenance
from allocator.selectors.devices import devices, reading_of, view_of
from allocator.services._snapshot import SEGMENT_COLUMNS, card_of, from_instant, taken_of, to_instant
from plumbing import db
from vxpu.market import CalendarRow, PieceView
from vxpu.slices import Period, Slice
from vxpu.states import LeaseState


def list_rows(
    *,
    from_at: datetime,
    to_at: datetime,
    piece: Slice,
    now: datetime,
    device_kind: str | None = None,
    device_id: UUID | None = None,
) -> list[CalendarRow]:
    """A row a device, by id. `free` is where `piece` fits from `now` on. Lapsed holds take nothing."""
    wanted = Q() if device_id is None else Q(pk=device_id)
    wanted &= Q() if device_kind is None else Q(kind=device_kind)
    with db.snapshot():
        found = list(devices().filter(wanted).order_by("pk"))
        segments = _segments_of(found, from_at, to_at, now)
        closed = maintenance.list_maintenance(from_at=from_at, to_at=to_at)
    by_device: dict[UUID, list[Segment]] = defaultdict(list)
    for segment in segments:
        by_device[segment.device_id].append(segment)
    ask = Ask(
        permille=piece.share_permille,
        mib=piece.memory_mib,
        starts=to_instant(max(from_at, now)),
        ends=to_instant(to_at),
    )
    return [
        _row(device, by_device[device.pk], [one for one in closed if one.node_id == device.node_id], ask)
        for device in found
    ]


def _segments_of(found: Sequence[Device], from_at: datetime, to_at: datetime, now: datetime) -> list[Segment]:
    window = TimestamptzRange(from_at, to_at)
    # Most of the time goes into reading instants: only what is shown of a lease is read.
    segments = (
        Segment.objects.filter(device__in=found, live=True, period__overlap=window)
        .select_related("lease")
        .only(*SEGMENT_COLUMNS, "lease__tenant_id", "lease__owner", "lease__state")
    )
    return list(segments.exclude(Q(lease__state="held") & Q(lease__hold_until__lte=now)))


def _row(device: Device, segments: Sequence[Segment], closed: Sequence[Maintenance], ask: Ask) -> CalendarRow:
    ordered = sorted(segments, key=lambda segment: sort_key(taken_of(segment)))
    taken = [taken_of(segment) for segment in ordered]
    spans = free_spans(card_of(device, taken, closed), ask)
    return CalendarRow(
        device=view_of(device, reading_of(device)),
        pieces=tuple(_piece(segment, lane) for segment, lane in zip(ordered, lanes(taken), strict=True)),
        maintenance=tuple(maintenance.view_of(one) for one in closed),
        free=tuple(Period(starts_at=from_instant(span.starts), ends_at=from_instant(span.ends)) for span in spans),
    )


def _piece(segment: Segment, lane: int) -> PieceView:
    lease = segment.lease
    return PieceView(
        lease_id=lease.pk,
        tenant_id=lease.tenant_id,
        owner=lease.owner,
        state=LeaseState(lease.state),
        starts_at=segment.period.lower,
        ends_at=segment.period.upper,
        slice=Slice(memory_mib=segment.mib, share_permille=segment.permille),
        whole=segment.mode_class == ModeClass.WHOLE,
        lane=lane,
    )
