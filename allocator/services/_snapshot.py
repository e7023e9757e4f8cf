"""The bridge from rows to the engine: an unlocked snapshot of the fleet, and wishes as asks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet
from psycopg.types.range import TimestamptzRange

from allocator.engine.fleet import FOREVER, UNLIMITED, Ask, Card, Closed, Fleet, HostTaken, Machine, Taken, sort_key
from allocator.engine.mig import UNKNOWN, Slots, layout_of
from allocator.models import Device, DeviceReading, Maintenance, Node, Segment
from allocator.models.segment import ModeClass
from allocator.selectors.devices import devices, is_online, reading_of
from allocator.selectors.health import health_of
from allocator.selectors.links import links_at
from allocator.selectors.maintenance import list_maintenance
from vxpu.market import Wish
from vxpu.states import Isolation

SEGMENT_COLUMNS = (
    "device_id", "node_id", "lease_id", "permille", "mib", "period", "mode_class", "copy_permille", "cores_milli",
    "host_mib", "slots",
)  # fmt: skip
NODE = ("node__host", "node__pool", "node__site")
MOST_W = 100_000
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
        copy_permille=0 if whole else wish.copy_permille,
        cores_milli=wish.cores_milli,
        host_mib=wish.host_mib,
        models=frozenset(wish.models) or None,
        pool=wish.pool,
        site=wish.site,
        near=wish.near,
    )


def read_fleet(*, from_at: datetime, now: datetime, device_id: UUID | None = None) -> Fleet:
    """All devices of active nodes (or one) with what is taken of them from `from_at` on.

    A hold that has lapsed takes nothing, whether or not someone has tidied it up.
    """
    found: QuerySet[Device] = devices().select_related(None).select_related(*NODE).order_by("pk")  # no readings
    segments = (
        Segment.objects.filter(live=True, period__overlap=TimestamptzRange(from_at, None))
        .exclude(Q(lease__state="held") & Q(lease__hold_until__lte=now))
        .only(*SEGMENT_COLUMNS)
    )
    if device_id is not None:
        found = found.filter(pk=device_id)
        segments = segments.filter(node__in=found.values("node"))  # what is taken of its host, too
    by_device: dict[UUID, list[Taken]] = defaultdict(list)
    by_node: dict[UUID, list[HostTaken]] = defaultdict(list)
    for segment in segments:
        by_device[segment.device_id].append(taken_of(segment))
        if segment.node_id is not None and (segment.cores_milli or segment.host_mib):
            by_node[segment.node_id].append(host_taken_of(segment))
    closed: dict[UUID, list[Maintenance]] = defaultdict(list)
    for period in list_maintenance(from_at=from_at, to_at=None):
        closed[period.node_id].append(period)
    nodes = {device.node_id: device.node for device in found}
    return Fleet.of(
        (card_of(device, by_device[device.pk], closed[device.node_id]) for device in found),
        (machine_of(node, by_node[node.pk]) for node in nodes.values()),
    )


def read_nodes(
    *, now: datetime, only: Collection[UUID] | None = None
) -> tuple[dict[UUID, list[Card]], dict[UUID, Machine]]:
    """Active nodes (of `only`) and their devices by id, without what is taken of them: cards and hosts by node."""
    nodes = Node.objects.filter(state="active").select_related("host", "pool", "site")
    by_id = {node.pk: node for node in (nodes if only is None else nodes.filter(pk__in=only))}
    found = Device.objects.filter(node__state="active").select_related("reading").order_by("pk")
    found = found if only is None else found.filter(node__in=list(by_id))
    closed: dict[UUID, list[Maintenance]] = defaultdict(list)
    for period in list_maintenance(from_at=now - timedelta(days=1), to_at=None):
        closed[period.node_id].append(period)
    cards: dict[UUID, list[Card]] = defaultdict(list)
    by_node: dict[UUID, list[Device]] = defaultdict(list)
    for device in found:
        if device.node_id not in by_id:  # it has come just now, and the next look reads it
            continue
        device.node = by_id[device.node_id]
        reading = reading_of(device)
        health = None if reading is None else health_of(reading.values, now=now).score
        card = replace(card_of(device, (), closed[device.node_id], health=health), power_w=_power_w(reading))
        cards[device.node_id].append(card)
        by_node[device.node_id].append(device)
    machines = {
        node_id: replace(machine_of(rows[0].node), links=links_at(rows[0].node, rows))
        for node_id, rows in by_node.items()
    }
    return cards, machines


def _power_w(reading: DeviceReading | None) -> int | None:
    """What the device may draw at full work, if it tells; what no device draws is not known."""
    limit = None if reading is None else reading.values.get("power_limit_mw")
    watts = None if limit is None or limit["value"] is None else int(limit["value"]) // 1000
    return watts if watts is not None and 0 <= watts <= MOST_W else None


def taken_of(segment: Segment) -> Taken:
    """A live segment as the engine knows it."""
    return Taken(
        lease_id=segment.lease_id,
        starts=to_instant(segment.period.lower),
        ends=to_instant(segment.period.upper),
        permille=segment.permille,
        mib=segment.mib,
        whole=segment.mode_class == ModeClass.WHOLE,
        copy_permille=segment.copy_permille,
        slots=None if segment.slots is None else Slots(segment.slots.lower, segment.slots.upper - segment.slots.lower),
    )


def host_taken_of(segment: Segment) -> HostTaken:
    """What the same piece takes of its node."""
    return HostTaken(
        lease_id=segment.lease_id,
        starts=to_instant(segment.period.lower),
        ends=to_instant(segment.period.upper),
        cores_milli=segment.cores_milli,
        mib=segment.host_mib,
    )


def machine_of(node: Node, taken: Iterable[HostTaken] = ()) -> Machine:
    """A node as a host; what its agent did not say is without a limit."""
    host = getattr(node, "host", None)
    return Machine(
        node_id=node.pk,
        pool="" if node.pool is None else node.pool.name,
        site="" if node.site is None else node.site.name,
        rack=node.rack,
        cores_milli=_known(None if host is None else host.capacity_cores_milli),
        mib=_known(None if host is None else host.capacity_mib),
        taken=tuple(sorted(taken, key=sort_key)),
    )


def _known(capacity: int | None) -> int:
    return UNLIMITED if capacity is None else capacity


def card_of(
    device: Device, taken: Iterable[Taken], closed: Iterable[Maintenance], *, health: int | None = None
) -> Card:
    """A device with what is taken of it and when its node is in maintenance."""
    cut = device.card is not None and (device.card.get("mig") or {}).get("enabled", False)
    return Card(
        device_id=device.pk,
        node_id=device.node_id,
        kind=device.kind,
        isolation_rank=RANKS[Isolation(device.isolation)],
        permille=device.capacity_permille,
        mib=device.capacity_mib,
        online=is_online(device),
        cordoned=device.node.cordoned_at is not None,
        standby=device.node.standby,
        settling=device.node.settling_since is not None,
        closed=tuple(Closed(to_instant(one.starts_at), to_instant(one.ends_at)) for one in closed),
        model=device.model,
        health=health,
        unhealthy=health is not None and health < settings.VXPU_HEALTH_FLOOR,
        mig=(layout_of(device.model, device.capacity_mib) or UNKNOWN) if cut else None,
        taken=tuple(sorted(taken, key=sort_key)),
    )
