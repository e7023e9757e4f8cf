"""The bridge from rows to the engine: an unlocked snapshot of the fleet, and wishes as asks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet
from psycopg.types.range import TimestamptzRange

from allocator.engine.fleet import FOREVER, Ask, Card, Closed, Fleet, Taken, sort_key
from allocator.models import Device, Maintenance, Segment
from allocator.models.segment import ModeClass
from allocator.selectors.devices import devices, is_online
from allocator.selectors.maintenance import list_maintenance
from vxpu.market import Wish
from vxpu.states import Isolation

RANKS = {mode: rank for rank, mode in enumerate(Isolation)}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_instant(at: datetime | None) -> int:
    """Integer microseconds since the epoch; None is the open end."""
    return FOREVER if at is None else (at - _EPOCH) // _MICROSECOND


def from_instant(instant: int) -> datetime:
    """The reverse of `to_instant`, for an instant that is not FOREVER."""
    return _EPOCH + instant * _MICROSECOND


def ask_of(wish: Wish) -> Ask:
    """EXCLUSIVE is a matter of the calendar, not of the device's own mode."""
    whole = wish.isolation_at_least == Isolation.EXCLUSIVE
    rank = None if whole or wish.isolation_at_least is None else RANKS[wish.isolation_at_least]
    return Ask(
        permille=wish.slice.share_permille,
        mib=wish.slice.memory_mib,
        starts=to_instant(wish.period.starts_at),
        ends=to_instant(wish.period.ends_at),
        whole=whole,
        kind=wish.device_kind,
        device_id=wish.device_id,
        isolation_rank=rank,
    )


def read_fleet(*, from_at: datetime, now: datetime, device_id: UUID | None = None) -> Fleet:
    """All devices of active nodes (or one) with what is taken of them from `from_at` on.

    A hold that has lapsed takes nothing, whether or not someone has tidied it up.
    """
    found: QuerySet[Device] = devices().select_related(None).select_related("node").order_by("pk")  # no readings
    segments = (
        Segment.objects.filter(live=True, period__overlap=TimestamptzRange(from_at, None))
        .exclude(Q(lease__state="held") & Q(lease__hold_until__lte=now))
        .only("device_id", "lease_id", "permille", "mib", "period", "mode_class")
    )
    if device_id is not None:
        found, segments = found.filter(pk=device_id), segments.filter(device_id=device_id)
    by_device: dict[UUID, list[Taken]] = defaultdict(list)
    for segment in segments:
        by_device[segment.device_id].append(taken_of(segment))
    closed: dict[UUID, list[Maintenance]] = defaultdict(list)
    for period in list_maintenance(from_at=from_at, to_at=None):
        closed[period.node_id].append(period)
    return Fleet.of(card_of(device, by_device[device.pk], closed[device.node_id]) for device in found)


def taken_of(segment: Segment) -> Taken:
    """A live segment as the engine knows it."""
    return Taken(
        lease_id=segment.lease_id,
        starts=to_instant(segment.period.lower),
        ends=to_instant(segment.period.upper),
        permille=segment.permille,
        mib=segment.mib,
        whole=segment.mode_class == ModeClass.WHOLE,
    )


def card_of(device: Device, taken: Iterable[Taken], closed: Iterable[Maintenance]) -> Card:
    """A device with what is taken of it and when its node is in maintenance."""
    return Card(
        device_id=device.pk,
        node_id=device.node_id,
        kind=device.kind,
        isolation_rank=RANKS[Isolation(device.isolation)],
        permille=device.capacity_permille,
        mib=device.capacity_mib,
        online=is_online(device),
        cordoned=device.node.cordoned_at is not None,
        closed=tuple(Closed(to_instant(one.starts_at), to_instant(one.ends_at)) for one in closed),
        taken=tuple(sorted(taken, key=sort_key)),
    )
