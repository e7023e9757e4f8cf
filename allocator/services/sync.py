"""One heartbeat of a node: what it has and does, answered by what it should do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from allocator.errors import LeaseLost, NodeRevoked
from allocator.locks import lock_node
from allocator.models import Device, DeviceReading, Lease, LeaseOutage, Node, NodeHost
from allocator.models.lease import LIVE, ON_NODE
from allocator.models.node import NodeState
from allocator.selectors.fleet import figures
from allocator.services._desired import Orders, read_orders
from allocator.services._dirty import mark_dirty
from allocator.services._end import drain, end, why_over
from allocator.services._move import move
from allocator.services._node_note import FLEET_FEED, note_node
from allocator.services._reports import apply_report, by_lease, close_outage
from allocator.services._settle import settle
from plumbing import db
from plumbing.live.publish import publish_metrics
from vxpu.ids import encode
from vxpu.states import LeaseState
from vxpu.wire.node import DeviceReport, HostReport, LeaseReport, Sync

COMPARED = (
    "kind", "model", "vendor", "simulated", "compute_units", "memory_mib", "capacity_mib", "capacity_permille",
    "isolation", "isolation_detail",
)  # fmt: skip


@db.transaction
def sync(*, node_id: UUID, boot_id: str, message: Sync, now: datetime) -> Orders:
    """Raises NodeRevoked. Leases that the node does not know yet are in the answer from their start on."""
    node = lock_node(node_id=node_id)
    if node.state != NodeState.ACTIVE:
        raise NodeRevoked(f"Node {node.pk} was revoked.")
    silent_since = node.last_seen_at
    leases = _live_leases(node)
    reports = by_lease(message.leases)
    _heard(node, boot_id, message, now)
    settle(node=node, given_up=_given_up(leases, reports), now=now)
    keys = _write_devices(node, message.devices, now)
    if message.host is not None:
        _write_host(node, message.host)
    _note_silence(leases, silent_since, now)
    is_stale = False
    for lease in leases:
        try:
            _take_word(lease, reports.get(lease.pk), now)
        except LeaseLost:  # someone else changed it since we read it: the next heartbeat tells again
            is_stale = True
    _drain_due(leases, now)
    return _orders(node, _live_leases(node) if is_stale else leases, keys, message.seq, now)


def _live_leases(node: Node) -> list[Lease]:
    return list(Lease.objects.filter(node=node, state__in=LIVE).order_by("pk"))


def _orders(node: Node, leases: Sequence[Lease], keys: Mapping[UUID, str], answers_seq: int, now: datetime) -> Orders:
    found = read_orders(node=node, leases=leases, keys=keys, answers_seq=answers_seq, now=now)
    if found.told:
        Lease.objects.filter(pk__in=found.told, offered_at__isnull=True).update(offered_at=now)
    return found


def _heard(node: Node, boot_id: str, message: Sync, now: datetime) -> None:
    if not node.is_online:
        note_node(node=node, kind="online", actor="agent", reason="", now=now)
    node.is_online, node.last_seen_at, node.boot_id = True, now, boot_id
    node.clock_offset_ms = (message.sent_at - now) // timedelta(milliseconds=1)
    # This answer may be lost: then the agent goes on by the one before, which may have allowed more.
    until = now + timedelta(seconds=settings.VXPU_AUTHORITY_S)
    node.authority_until = until if node.authority_until is None else max(until, node.authority_until)
    node.save(update_fields=["is_online", "last_seen_at", "boot_id", "clock_offset_ms", "authority_until"])


def _given_up(leases: Sequence[Lease], reports: Mapping[UUID, LeaseReport]) -> int:
    """How many slices the agent still has that are none of its node's leases: fenced ones, above all."""
    known = {lease.pk for lease in leases}
    return sum(lease_id not in known and report.state != LeaseState.GONE for lease_id, report in reports.items())


def _write_devices(node: Node, reports: Sequence[DeviceReport], now: datetime) -> dict[UUID, str]:
    """Devices are written when they changed only: a booking contends for the row. Returns the keys of all."""
    known = {device.key: device for device in Device.objects.filter(node=node).order_by("pk")}
    keys = {device.pk: device.key for device in known.values()}
    readings = []
    for report in reports:
        device = known.pop(report.key, None)
        values = {name: getattr(report, name) for name in COMPARED}
        values["card"] = None if report.card is None else report.card.model_dump(mode="json")
        if device is None:
            device = Device.objects.create(
                tenant_id=settings.VXPU_OPERATOR_TENANT, created_at=now, node=node, key=report.key, **values
            )
        elif not device.is_present or any(getattr(device, name) != value for name, value in values.items()):
            Device.objects.filter(pk=device.pk).update(is_present=True, **values)
        keys[device.pk] = device.key
        readings.append(_reading(device, report, now))
    DeviceReading.objects.bulk_create(
        readings, update_conflicts=True, unique_fields=["device"], update_fields=["values", "at"]
    )
    publish_metrics(FLEET_FEED, {"devices": [_figures(reading, now) for reading in readings]})
    absent = [device.pk for device in known.values() if device.is_present]
    if absent:
        Device.objects.filter(pk__in=absent).update(is_present=False)
    return keys


def _write_host(node: Node, host: HostReport) -> None:
    """When it changed only: a booking contends for the row."""
    values = {
        "cores_milli": host.cores_milli, "memory_mib": host.memory_mib,
        "capacity_cores_milli": host.sellable_cores_milli, "capacity_mib": host.sellable_memory_mib,
    }  # fmt: skip
    known = NodeHost.objects.filter(node=node).values(*values).first()
    if known is not None and known != values:
        NodeHost.objects.filter(node=node).update(**values)


def _reading(device: Device, report: DeviceReport, now: datetime) -> DeviceReading:
    values = {name: reading.model_dump(mode="json") for name, reading in report.readings.items()}
    operator = settings.VXPU_OPERATOR_TENANT
    return DeviceReading(tenant_id=operator, created_at=now, device=device, values=values, at=now)


def _figures(reading: DeviceReading, now: datetime) -> dict[str, Any]:
    """As in the fleet's columns."""
    values = {name: one["value"] for name, one in reading.values.items()}
    return {"id": encode("dev", reading.device_id), **figures(values), "read_at": now.isoformat()}


def _note_silence(leases: Sequence[Lease], silent_since: datetime | None, now: datetime) -> None:
    """Whoever was to blame: a node that was not answered for longer than its authority had closed its gates."""
    authority = timedelta(seconds=settings.VXPU_AUTHORITY_S)
    if silent_since is None or now - silent_since <= authority:
        return
    dark = [lease for lease in leases if lease.ready_at is not None and lease.state != LeaseState.UNREACHABLE]
    LeaseOutage.objects.bulk_create(
        LeaseOutage(
            tenant_id=lease.tenant_id,
            created_at=now,
            lease=lease,
            silent_since=silent_since,
            authority_until=silent_since + authority,
            recovered_at=now,
        )
        for lease in dark
    )
    mark_dirty(leases=dark, at=silent_since, now=now)
    mark_dirty(leases=dark, at=now, now=now)


def _take_word(lease: Lease, report: LeaseReport | None, now: datetime) -> None:
    if report is not None:
        apply_report(lease=lease, report=report, now=now)
    if lease.state == LeaseState.UNREACHABLE and lease.ends_at is not None and lease.ends_at <= now:
        # Heard again after its end: from here on it drains like any other.
        move(lease=lease, to=LeaseState.DRAINING, actor="allocator", reason=why_over(lease), now=now, drain_at=now)
        close_outage(lease=lease, now=now)
    long_told = timedelta(seconds=2 * settings.VXPU_HEARTBEAT_S)
    if report is None and lease.drain_at is not None and lease.drain_at <= now - long_told:
        # A sync names every slice there is; this one was to go for two heartbeats and is not named.
        end(lease=lease, actor="agent", reason=lease.end_reason or "absent", now=now)


def _drain_due(leases: Sequence[Lease], now: datetime) -> None:
    for lease in leases:
        if lease.state in ON_NODE and lease.ends_at is not None and lease.ends_at <= now:
            drain(lease=lease, actor="allocator", reason=why_over(lease), now=now)
