"""The whole fleet of one instant, in columns: what a map of thousands of devices is drawn from."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection

from allocator.engine.health import health
from allocator.selectors.health import fresh_for
from allocator.selectors.nodes import drain_state
from plumbing import db
from vxpu.ids import encode

_NODES = """
SELECT n.id, n.hostname, n.rack, n.state, n.is_online, n.last_seen_at, n.cordoned_at IS NOT NULL, m.starts_at,
       m.drained_at, n.standby
  FROM allocator_node n
  LEFT JOIN allocator_maintenance m ON m.node_id = n.id AND m.ends_at IS NULL
 WHERE n.state = 'active' ORDER BY n.rack = '', n.rack, n.hostname, n.id
"""
_DEVICES = """
SELECT d.id, d.node_id, d.model, d.kind, d.simulated, d.capacity_mib, d.capacity_permille, d.is_present, r.at, r.values
  FROM allocator_device d
  JOIN allocator_node n ON n.id = d.node_id AND n.state = 'active'
  LEFT JOIN allocator_devicereading r ON r.device_id = d.id
 ORDER BY d.node_id, d.key
"""
# The newest window of each lease is one step in the primary key; older than `since` it says nothing of now.
_SLICES = """
SELECT s.device_id, s.mib, s.permille, s.tenant_id, s.lease_id, l.state, w.used_permille_s / w.window_s
  FROM allocator_segment s
  JOIN allocator_lease l ON l.id = s.lease_id
  LEFT JOIN LATERAL (
      SELECT u.used_permille_s, u.window_s FROM allocator_usagewindow u
       WHERE u.lease_id = s.lease_id AND u.window_start > %(since)s ORDER BY u.window_start DESC LIMIT 1
  ) w ON true
 WHERE s.live AND s.period @> %(now)s AND NOT (l.state = 'held' AND l.hold_until <= %(now)s)
 ORDER BY s.device_id, s.mib DESC, s.lease_id
"""

COLUMNS = (
    "id", "node", "model", "kind", "simulated", "capacity_mib", "capacity_permille", "present", "health",
    "use_permille", "temperature_c", "power_w", "read_at", "slices",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetView:
    """JSON types only. `devices` maps a column's name to one value a device; `node` counts in `nodes`."""

    as_of: datetime
    racks: list[str]
    nodes: list[dict[str, Any]]
    devices: dict[str, list[Any]]


def read_fleet_view(*, now: datetime, shown_to: UUID | None) -> FleetView:
    """One snapshot. Leases are named to the tenant `shown_to` if they are its own; None names every lease."""
    with db.snapshot(), connection.cursor() as cursor:
        cursor.execute(_NODES)
        node_rows = cursor.fetchall()
        cursor.execute(_DEVICES)
        device_rows = cursor.fetchall()
        cursor.execute(_SLICES, {"now": now, "since": now - newest_window()})
        slice_rows = cursor.fetchall()
    slices: dict[UUID, list[dict[str, Any]]] = defaultdict(list)
    for row in slice_rows:
        slices[row[0]].append(_slice(row, shown_to))
    index = {row[0]: number for number, row in enumerate(node_rows)}
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for row in sorted(device_rows, key=lambda found: index[found[1]]):
        for name, value in zip(COLUMNS, _device(row, index[row[1]], slices[row[0]], now), strict=True):
            columns[name].append(value)
    racks = list(dict.fromkeys(row[2] for row in node_rows))
    return FleetView(as_of=now, racks=racks, nodes=[_node(row, now) for row in node_rows], devices=columns)


def newest_window() -> timedelta:
    """A lease's newest window may be a whole window and its way here old; one that is older says nothing of now."""
    return timedelta(seconds=3 * settings.VXPU_WINDOW_S)


def _node(row: Any, now: datetime) -> dict[str, Any]:
    node_id, hostname, rack, state, is_online, last_seen_at, cordoned, starts_at, drained_at, standby = row
    drain = drain_state(starts_at=starts_at, drained_at=drained_at, now=now)
    return {
        "id": encode("nod", node_id),
        "hostname": hostname,
        "rack": rack,
        "state": state,
        "online": is_online,
        "last_seen_at": last_seen_at,
        "cordoned": cordoned,
        "standby": standby,
        "drain": drain.value,
    }


def _slice(row: Any, shown_to: UUID | None) -> dict[str, Any]:
    _, mib, permille, tenant_id, lease_id, state, use = row
    named = shown_to in (None, tenant_id)
    return {
        "memory_mib": mib,
        "share_permille": permille,
        "use_permille": use,
        "mine": tenant_id == shown_to,
        "lease": encode("lse", lease_id) if named else None,
        "state": state,
    }


def _values(readings: str) -> dict[str, int | None]:
    """name -> value, from the column's JSON."""
    return {name: reading["value"] for name, reading in json.loads(readings).items()}


def _device(row: Any, node: int, slices: list[dict[str, Any]], now: datetime) -> tuple[Any, ...]:
    """A device that was not read of late has no readings, but it says when it was."""
    device_id, _, model, kind, simulated, capacity_mib, capacity_permille, present, read_at, readings = row
    fresh = read_at is not None and now - read_at <= fresh_for()
    shown = figures(_values(readings) if fresh else {})
    return (
        encode("dev", device_id), node, model, kind, simulated, capacity_mib, capacity_permille, present,
        shown["health"], shown["use_permille"], shown["temperature_c"], shown["power_w"], read_at, slices,
    )  # fmt: skip


def figures(values: Mapping[str, int | None]) -> dict[str, int | None]:
    """What a map shows of a device's readings."""
    power_mw = values.get("power_mw")
    return {
        "health": health(values),
        "use_permille": values.get("utilization_permille"),
        "temperature_c": values.get("temperature_c"),
        "power_w": None if power_mw is None else round(power_mw / 1000),
    }
