"""The driver's own memory cap for a control group, where there is one: r615 / CUDA 13.4, cgroup v2, root, no MIG.

It holds whatever a program does to the library in its own address space. Where it is missing the reason goes into the
text that a buyer reads, and the library alone holds the memory.
"""

from __future__ import annotations

import os
from pathlib import Path

from agent.devices.nvidia import CardGone, NvidiaPort, Refused
from agent.devices.port import Device
from vxpu.units import MIB

FIRST_DRIVER = 615


class MemoryFence:
    """`groups` is the folder of the slices' groups in cgroup v2, None where they have none.

    Nothing here raises: a fence that is missing is a text. Each card is tried once by asking, then believed.
    """

    def __init__(self, port: NvidiaPort, *, groups: Path | None) -> None:
        self._port = port
        self._groups = groups
        self._known: dict[str, str] = {}

    def why_not(self, card: Device) -> str:
        """Why the driver cannot fence this card; empty when nothing speaks against it, or it did already."""
        if card.card is None:
            return "no NVIDIA driver"
        if os.geteuid() != 0:
            return "the agent is not root"
        if self._groups is None:
            return "the slices have no cgroup v2"
        if card.card.mig is not None and card.card.mig.enabled:
            return "the driver does not fence MIG instances"
        if _major(card.card.driver_version) < FIRST_DRIVER and not card.simulated:
            return f"the driver has no memory limits before r{FIRST_DRIVER}"
        if card.key not in self._known:
            counts = self._port.memory_under_limits(card, self._groups) is not None
            self._known[card.key] = "" if counts else "this driver has no memory limits for control groups"
        return self._known[card.key]

    def set(self, card: Device, lease_id: str, *, memory_mib: int, guaranteed_mib: int | None = None) -> str:
        """Cap the lease's memory on the card; the reason when it is not capped. Repeated at each resize."""
        missing = self.why_not(card)
        if missing:
            return missing
        soft = memory_mib if guaranteed_mib is None else guaranteed_mib
        return self._order(card, lease_id, soft_bytes=soft * MIB, hard_bytes=memory_mib * MIB)

    def clear(self, card: Device, lease_id: str) -> str:
        """Lift the cap; the group's end does so as well."""
        if self.why_not(card):
            return ""
        return self._order(card, lease_id, soft_bytes=0, hard_bytes=None)

    def used_bytes(self, card: Device, lease_id: str) -> int | None:
        """What the driver counts for the lease; None where it does not count."""
        if self.why_not(card) or self._groups is None:
            return None
        return self._port.memory_under_limits(card, self._groups / lease_id)

    def _order(self, card: Device, lease_id: str, *, soft_bytes: int, hard_bytes: int | None) -> str:
        if self._groups is None:
            return "the slices have no cgroup v2"
        group = self._groups / lease_id
        try:
            self._port.set_memory_limits(card, group, soft_bytes=soft_bytes, hard_bytes=hard_bytes)
        except (Refused, CardGone) as error:
            return str(error)
        return ""


def _major(version: str) -> int:
    head = version.partition(".")[0]
    return int(head) if head.isdigit() else 0
