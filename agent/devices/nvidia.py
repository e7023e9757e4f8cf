"""NVIDIA cards: the door to NVML. What a card does not support reads as None; a driver that vanishes is no crash."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pynvml

from agent.devices import nvml_readings, nvml_topology
from agent.devices.mig import MigCard
from agent.devices.nvml import CardGone, Nvml, Refused, text
from agent.devices.nvml_readings import Sample
from agent.devices.port import Device, measured
from vxpu.states import DeviceKind
from vxpu.units import WHOLE_PERMILLE
from vxpu.wire.node import CardReport, Reading

__all__ = ["KEY", "CardEvent", "CardGone", "NvidiaPort", "Refused", "Sample"]

CONTROL_NODES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")
SIMULATED = "simulated"
KEY = "nvidia:"
EVENTS_A_LOOK = 64
COMPUTE_EXCLUSIVE_PROCESS = pynvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS


@dataclass(frozen=True, slots=True)
class CardEvent:
    """Something that happened to a card, in words for the log and the server."""

    key: str
    text: str


class NvidiaPort:
    """`is_open` False where there is no driver. One thread at a time inside NVML; the methods may come from any."""

    def __init__(self, nvml: Nvml | None = None) -> None:
        self.nvml = nvml or Nvml()
        self._events: list[CardEvent] = []
        self._gone: set[str] = set()
        self._xids: dict[str, int] = {}
        self._watch: Any = None
        self._watched = 0

    @property
    def is_open(self) -> bool:
        return self.nvml.is_open

    def discover(self) -> list[Device]:
        """Every card that answers now, with how they reach each other."""
        found = []
        buses = self._buses()
        for uuid in buses:
            with contextlib.suppress(CardGone):
                found.append(self._describe(uuid, buses))
        return found

    def read(self, device: Device, *, at: datetime) -> dict[str, Reading]:
        """All readings; each is unavailable while the card or its driver is not there, which is an event."""
        names = [*nvml_readings.READINGS, "mig_enabled", "xid_last"]
        values: dict[str, int | None] = dict.fromkeys(names)
        try:
            values |= nvml_readings.read_all(self.nvml, device.uuid)
            state = nvml_topology.mig_state(self.nvml, device.uuid)
            values["mig_enabled"] = None if state is None else int(state.enabled)
            self._look_for_xids()
            values["xid_last"] = self._xids.get(device.uuid)
            self._note_back(device.key)
        except CardGone as error:
            self._note_gone(device.key, str(error))
        return {name: measured(value, at=at) for name, value in values.items()}

    def refresh(self, device: Device) -> Device:
        """The same card with what may have changed: the driver's version, its links, whether it is cut."""
        buses = self._buses()
        try:
            return replace(device, card=self._card(device.uuid, buses)) if device.uuid in buses else device
        except CardGone:
            return device

    def process_memory(self, device: Device) -> dict[int, int | None] | None:
        """Bytes by pid (None: a figure that the driver keeps back); None: cannot be read now or on this card."""
        try:
            return nvml_readings.process_memory(self.nvml, device.uuid)
        except CardGone as error:
            self._note_gone(device.key, str(error))
            return None

    def process_busy(self, device: Device, since_us: int) -> list[Sample] | None:
        """Who kept the card busy after `since_us` (the driver's own microseconds); None as above."""
        try:
            return nvml_readings.process_busy(self.nvml, device.uuid, since_us)
        except CardGone as error:
            self._note_gone(device.key, str(error))
            return None

    def take_events(self) -> list[CardEvent]:
        """What happened since the last call."""
        taken, self._events = self._events, []
        return taken

    def compute_mode(self, uuid: str) -> int | None:
        """NVML's number: 0 shared, 3 one process at a time. Raises CardGone."""
        return self.nvml.ask(uuid, pynvml.nvmlDeviceGetComputeMode)

    def set_compute_mode(self, uuid: str, mode: int) -> None:
        """Raises Refused, CardGone."""
        self.nvml.order(uuid, "compute mode", lambda card: pynvml.nvmlDeviceSetComputeMode(card, mode))

    def set_memory_limits(self, device: Device, group: Path, *, soft_bytes: int, hard_bytes: int | None) -> None:
        """Fence the processes of a control group on this card; hard None lifts it. Raises Refused, CardGone.

        Source: nvmlSetMemoryLimits_v1_t of the NVML reference: the full path of the group in sysfs, bytes.
        """
        limits = pynvml.c_nvmlSetMemoryLimits_v1_t()
        limits.nameSpace = os.fsencode(group)
        limits.softLimit = soft_bytes
        limits.hardLimit = pynvml.NVML_DEVICE_MEMORY_LIMIT_MAX if hard_bytes is None else hard_bytes
        self.nvml.order(
            device.uuid, "memory limits of the driver", lambda card: pynvml.nvmlDeviceSetMemoryLimits_v1(card, limits)
        )

    def memory_under_limits(self, device: Device, group: Path) -> int | None:
        """Bytes that the control group holds on the card by the driver's own count; None: it does not count."""
        limits = pynvml.c_nvmlGetMemoryLimits_v1_t()
        limits.nameSpace = os.fsencode(group)

        def read(card: Any) -> int:
            pynvml.nvmlDeviceGetMemoryLimits_v1(card, limits)
            return int(limits.currentUsed)

        try:
            return self.nvml.ask(device.uuid, read)
        except CardGone:
            return None

    def _buses(self) -> dict[str, str]:
        """PCI bus id by UUID of every card that answers."""
        found = {}
        with contextlib.suppress(CardGone):
            for uuid in self.nvml.ask_system(_uuids) or []:
                with contextlib.suppress(CardGone):
                    found[uuid] = _bus_id(self.nvml, uuid)
        return found

    def _describe(self, uuid: str, buses: dict[str, str]) -> Device:
        def number(read: Any) -> int | None:
            return self.nvml.ask(uuid, read)

        card = self._card(uuid, buses)
        simulated = card.driver_version.startswith(SIMULATED)
        name = text(self.nvml.ask(uuid, pynvml.nvmlDeviceGetName) or "NVIDIA card")
        memory = self.nvml.ask(uuid, nvml_readings.memory) or nvml_readings.Memory(1, 0, 0)
        minor = number(pynvml.nvmlDeviceGetMinorNumber)
        return Device(
            key=KEY + uuid,
            kind=DeviceKind.NVIDIA,
            model=name if not simulated or SIMULATED in name.lower() else f"Simulated {name}",
            vendor="NVIDIA (simulated)" if simulated else "NVIDIA",
            compute_units=number(pynvml.nvmlDeviceGetNumGpuCores) or 1,
            memory_mib=memory.total,
            capacity_mib=self._sellable_mib(uuid, card, memory),
            capacity_permille=WHOLE_PERMILLE,
            nodes=_nodes(minor, simulated=simulated),
            simulated=simulated,
            card=card,
        )

    def _sellable_mib(self, uuid: str, card: CardReport, memory: nvml_readings.Memory) -> int:
        """What programs can have in all: not the driver's own part, nor what a cut card's largest instance lacks."""
        mine = max(1, memory.total - memory.reserved)
        if card.mig is None or not card.mig.enabled:
            return mine
        return min(mine, max((profile.memory_mib for profile in MigCard(self.nvml, uuid).profiles()), default=mine))

    def _card(self, uuid: str, buses: dict[str, str]) -> CardReport:
        others = {peer: bus_id for peer, bus_id in buses.items() if peer != uuid}
        cuda = self.nvml.ask_system(pynvml.nvmlSystemGetCudaDriverVersion_v2)
        return CardReport(
            uuid=uuid, pci_bus_id=buses[uuid],
            driver_version=text(self.nvml.ask_system(pynvml.nvmlSystemGetDriverVersion) or ""),
            cuda_version="" if cuda is None else f"{cuda // 1000}.{cuda % 1000 // 10}",
            links=nvml_topology.links(self.nvml, uuid, others), mig=nvml_topology.mig_state(self.nvml, uuid),
        )  # fmt: skip

    def _look_for_xids(self) -> None:
        """Take what the driver queued, without waiting. An event set ends with the library that made it."""
        if self._watched != self.nvml.generation:
            self._watch, self._watched = self.nvml.ask_system(_watch_all), self.nvml.generation
        for _ in range(EVENTS_A_LOOK if self._watch is not None else 0):
            seen = self.nvml.ask_system(lambda: pynvml.nvmlEventSetWait_v2(self._watch, 0))
            if seen is None:  # the wait timed out: nothing is queued
                return
            uuid = text(self.nvml.ask_system(lambda seen=seen: pynvml.nvmlDeviceGetUUID(seen.device)) or "")  # type: ignore[misc]
            self._note_xid(uuid, int(seen.eventType), int(seen.eventData))

    def _note_xid(self, uuid: str, kind: int, data: int) -> None:
        if kind == pynvml.nvmlEventTypeXidCriticalError:
            self._xids[uuid] = data
            self._events.append(CardEvent(KEY + uuid, f"xid: the driver reported Xid {data}"))
        else:
            self._events.append(CardEvent(KEY + uuid, "ecc: a double-bit memory error"))

    def _note_gone(self, key: str, why: str) -> None:
        if key not in self._gone:
            self._gone.add(key)
            self._events.append(CardEvent(key, f"card_gone: {why}"))

    def _note_back(self, key: str) -> None:
        if key in self._gone:
            self._gone.discard(key)
            self._events.append(CardEvent(key, "card_back: the card answers again"))


def _uuids() -> list[str]:
    found = []
    for index in range(pynvml.nvmlDeviceGetCount()):
        with contextlib.suppress(pynvml.NVMLError_GpuIsLost, pynvml.NVMLError_NoPermission):
            found.append(text(pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByIndex(index))))
    return found


def _bus_id(nvml: Nvml, uuid: str) -> str:
    return text(nvml.ask(uuid, lambda card: pynvml.nvmlDeviceGetPciInfo(card).busId) or "").lower()


def _nodes(minor: int | None, *, simulated: bool) -> tuple[str, ...]:
    if minor is None:
        return ()
    if simulated:
        folder = os.environ.get("VXPU_FAKE_DIR", "/dev")
        return (f"{folder}/vxpu-fake{minor}", f"{folder}/vxpu-fake-clock")
    return (f"nvidia{minor}", *CONTROL_NODES)


def _watch_all() -> Any:
    """An event set over all cards; a card that offers no events is passed over."""
    watch = pynvml.nvmlEventSetCreate()
    wanted = pynvml.nvmlEventTypeXidCriticalError | pynvml.nvmlEventTypeDoubleBitEccError
    for index in range(pynvml.nvmlDeviceGetCount()):
        with contextlib.suppress(pynvml.NVMLError):
            card = pynvml.nvmlDeviceGetHandleByIndex(index)
            offered = wanted & pynvml.nvmlDeviceGetSupportedEventTypes(card)
            if offered:
                pynvml.nvmlDeviceRegisterEvents(card, offered, watch)
    return watch
