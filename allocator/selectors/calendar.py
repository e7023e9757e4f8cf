"""A device's calendar as it may be shown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from allocator.models.segment import ModeClass
from allocator.selectors.devices import get_device, list_segments
from vxpu.ids import encode
from vxpu.slices import Slice


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenView:
    """`lease` is named to its own tenant only."""

    starts_at: datetime
    ends_at: datetime | None
    slice: Slice
    whole: bool
    lease: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarView:
    device_id: UUID
    items: tuple[TakenView, ...]


def get_calendar(*, device_id: UUID, from_at: datetime, to_at: datetime, shown_to: UUID | None) -> CalendarView:
    """What is taken in [from_at, to_at), by start. `shown_to` None names every lease. Raises NotFound."""
    get_device(device_id=device_id)
    items = tuple(
        TakenView(
            starts_at=segment.period.lower,
            ends_at=segment.period.upper,
            slice=Slice(memory_mib=segment.mib, share_permille=segment.permille),
            whole=segment.mode_class == ModeClass.WHOLE,
            lease=encode("lse", segment.lease_id) if shown_to in (None, segment.tenant_id) else None,
        )
        for segment in list_segments(device_id=device_id, from_at=from_at, to_at=to_at)
    )
    return CalendarView(device_id=device_id, items=items)
