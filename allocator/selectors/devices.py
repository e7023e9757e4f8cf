"""Reads of nodes and devices. They are the operator's rows: callers are in the system scope."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet
from psycopg.types.range import TimestamptzRange

from allocator.models import Device, DeviceReading, Lease, NodeKey, Segment
from allocator.models.lease import LIVE
from plumbing.errors import NotFound
from vxpu.market import DeviceView, DeviceWords
from vxpu.states import DeviceKind, Isolation


def is_online(device: Device) -> bool:
    """The node is heard and still shows the device."""
    return device.is_present and device.node.is_online and device.node.state == "active"


def view_of(device: Device, reading: DeviceReading | None) -> DeviceView:
    """The frozen value of a row."""
    return DeviceView(
        id=device.pk,
        node_id=device.node_id,
        key=device.key,
        kind=DeviceKind(device.kind),
        model=device.model,
        vendor=device.vendor,
        simulated=device.simulated,
        compute_units=device.compute_units,
        capacity_mib=device.capacity_mib,
        capacity_permille=device.capacity_permille,
        isolation=Isolation(device.isolation),
        isolation_detail=device.isolation_detail,
        online=is_online(device),
        readings=reading.values if reading is not None else {},
        memory_mib=device.memory_mib,
        node_hostname=device.node.hostname,
        rack=device.node.rack,
        cordoned=device.node.cordoned_at is not None,
        card=device.card,
    )


def devices() -> QuerySet[Device]:
    """Every device of an active node, with its node and readings, for paging."""
    return Device.objects.filter(node__state="active").select_related("node", "reading")


def reading_of(device: Device) -> DeviceReading | None:
    """None until the first heartbeat."""
    return getattr(device, "reading", None)


def list_devices() -> list[DeviceView]:
    """By id."""
    return [view_of(device, reading_of(device)) for device in devices().order_by("pk")]


def find_devices(*, device_ids: Collection[UUID]) -> dict[UUID, DeviceView]:
    """By id, without readings."""
    found = Device.objects.filter(pk__in=device_ids).select_related("node")
    return {device.pk: view_of(device, None) for device in found}


def find_words(*, device_ids: Collection[UUID]) -> dict[UUID, DeviceWords]:
    """By id."""
    found = Device.objects.filter(pk__among=device_ids).values_list("pk", *DeviceWords._fields)
    return {device_id: DeviceWords(*words) for device_id, *words in found}


def get_device(*, device_id: UUID) -> DeviceView:
    """Raises NotFound."""
    device = devices().filter(pk=device_id).first()
    if device is None:
        raise NotFound(f"There is no device {device_id}.")
    return view_of(device, reading_of(device))


def get_devices(*, device_ids: Collection[UUID]) -> dict[UUID, DeviceView]:
    """By id, in one read. Raises NotFound if one of them is not there."""
    found = find_devices(device_ids=device_ids)
    for device_id in device_ids:
        if device_id not in found:
            raise NotFound(f"There is no device {device_id}.")
    return found


def list_segments(*, device_id: UUID, from_at: datetime, to_at: datetime) -> list[Segment]:
    """Live segments of a device that overlap [from_at, to_at), by start."""
    window = TimestamptzRange(from_at, to_at)
    found = Segment.objects.filter(device_id=device_id, live=True, period__overlap=window)
    return sorted(found, key=lambda segment: (segment.period.lower, segment.pk))


def list_keys(*, node_id: UUID, now: datetime) -> list[bytes]:
    """The public keys that are valid now, newest first."""
    keys = NodeKey.objects.filter(node_id=node_id).order_by("-created_at")
    return [bytes(key.public_key) for key in keys if key.revoked_at is None or key.revoked_at > now]


def list_live_leases(*, node_id: UUID) -> list[Lease]:
    """Leases of a node that take capacity, by start."""
    return list(Lease.objects.filter(node_id=node_id, state__in=LIVE).order_by("starts_at", "pk"))
