"""All devices of the node through every door, with their latest readings."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from agent.config import Config
from agent.devices.nvidia import NvidiaPort
from agent.devices.opencl import OpenClPort
from agent.devices.port import Badge, Device, DevicePort
from agent.state import write_whole
from vxpu.states import Isolation
from vxpu.wire.node import DeviceReport, Reading


class Inventory:
    """`devices` by key. `discover` is slow (a driver is asked in a process of its own); `read` is not."""

    def __init__(self, config: Config) -> None:
        self.nvidia = nvidia = NvidiaPort()
        skipped = ("nvidia",) if nvidia.is_open else ()
        opencl = OpenClPort(reserve_permille=config.host_reserve_permille, skip_vendors=skipped)
        self.ports: tuple[DevicePort, ...] = (opencl, nvidia)
        self.devices: dict[str, Device] = {}
        self._port_of: dict[str, DevicePort] = {}
        self._readings: dict[str, dict[str, Reading]] = {}
        self._file = config.state_dir / "devices.json"

    def discover(self) -> None:
        for port in self.ports:
            for device in port.discover():
                self.devices[device.key] = device
                self._port_of[device.key] = port
        self._keep_capacity()

    def _keep_capacity(self) -> None:
        """A driver's memory figure may differ from start to start on one machine (seen: PoCL on a host that grows its
        memory on demand); what was sold stays what it was while the hardware and the driver are the same."""
        known: dict[str, Any] = json.loads(self._file.read_text()) if self._file.exists() else {}
        for key, device in self.devices.items():
            before = known.get(key)
            hardware = [device.icd, device.memory_mib, device.capacity_permille]
            if before is not None and before["hardware"] == hardware:
                self.devices[key] = replace(device, capacity_mib=before["capacity_mib"])
            known[key] = {"hardware": hardware, "capacity_mib": self.devices[key].capacity_mib}
        write_whole(self._file, json.dumps(known))

    def read(self) -> None:
        at = datetime.now(UTC)
        self._readings = {key: self._port_of[key].read(device, at=at) for key, device in self.devices.items()}
        for key, device in self.devices.items():
            if device.card is not None:
                self.devices[key] = self.nvidia.refresh(device)

    def reports(
        self, *, isolation: Isolation, detail: str, badge: Callable[[Device], Badge | None] = lambda _: None
    ) -> list[DeviceReport]:
        return [
            replace(device, readings=self._readings.get(key, {})).report(
                isolation=isolation, detail=detail, badge=badge(device)
            )
            for key, device in sorted(self.devices.items())
        ]
