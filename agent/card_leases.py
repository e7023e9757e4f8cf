"""A lease of a card from its beginning to its end: the mode that cuts the card, the fence, and the watch over it.

What the keeper does for every slice it does for slices of cards too; this is what comes on top.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from agent.cards import Cards
from agent.cdi import REAL_DRIVER, CdiFiles, find_driver
from agent.config import Config
from agent.devices.nvidia import NvidiaPort
from agent.devices.port import Device
from agent.enforce.modes.choose import CardSharing
from agent.enforce.modes.port import CardLease, Grant
from agent.enforce.port import Enforcer, SliceCard
from agent.state import SliceRecord
from agent.suspend import Suspender
from vxpu.states import DeviceKind

DRIVER_IN_SLICE = "/run/vxpu/driver"
CUDA, NVML = "libcuda.so.1", "libnvidia-ml.so.1"


class CardLeases:
    """Every method may raise CannotShare and OSError, and may be repeated after a crash at any point of it."""

    def __init__(
        self, config: Config, enforcer: Enforcer, *, door: NvidiaPort, sharing: CardSharing, cdi: CdiFiles,
        cards: Cards, devices: Mapping[str, Device],
    ) -> None:  # fmt: skip
        self.config = config
        self.enforcer = enforcer
        self.door = door
        self.sharing = sharing
        self.cdi = cdi
        self.cards = cards
        self.suspender = Suspender(enforcer, cards)
        self.devices = devices
        self._grants: dict[str, Grant] = {}

    def prepare(self, record: SliceRecord) -> SliceRecord:
        """The record with its part of the card; one of another device as it is."""
        device = self.devices.get(record.device_key)
        if device is None or device.kind != DeviceKind.NVIDIA:
            return record
        known = record.card.mode if record.card is not None else ""
        mode, grant = self.sharing.prepare(_lease(record), device, mode=known)
        return self._granted(record, device, mode, grant)

    def resize(self, record: SliceRecord, *, memory_mib: int, share_permille: int) -> SliceRecord:
        """The record in its new size; CannotShare leaves the old one."""
        wanted = replace(record, memory_mib=memory_mib, share_permille=share_permille)
        device = self.devices.get(record.device_key)
        if record.card is None or device is None:
            return wanted
        grant = self.sharing.resize(_lease(wanted), device, mode=record.card.mode)
        return self._granted(wanted, device, record.card.mode, grant)

    def adopt(self, record: SliceRecord) -> None:
        """After a start of the agent; what runs is not disturbed. A card that is gone meanwhile is left out."""
        device = self.devices.get(record.device_key)
        if record.card is not None and device is not None:
            self._grants[record.lease_id] = self.sharing.adopt(_lease(record), device, mode=record.card.mode)

    def forget_others(self, known: set[str]) -> None:
        """After a start, when all that runs is adopted: undo what was made for leases that nobody remembers."""
        for event in self.sharing.forget_others(known):
            sys.stderr.write(f"vxpu-agent: {event.key} {event.text}\n")
        self.cdi.remove_strangers(known)

    def made(self, record: SliceRecord, *, busy_ns: int = 0) -> str:
        """The slice is there in this size: fence it and watch it. The reason when a fence that is there failed."""
        device = self.devices.get(record.device_key)
        if record.card is None or device is None:
            return ""
        self.cards.watch(record.spec, device, busy_ns=busy_ns)
        if record.lease_id in self._grants:
            region = self.enforcer.region(record.spec).folder
            self.cdi.write(record.lease_id, uid=record.uid, region=region, grant=self._grants[record.lease_id])
        if record.card.inert or self.sharing.fence.why_not(device):
            return ""  # the badge says so before anybody buys
        spill_mib = self.config.cards.spill_mib
        return self.sharing.fence.set(
            device, record.lease_id, memory_mib=record.memory_mib + spill_mib, guaranteed_mib=record.memory_mib
        )  # fmt: skip

    def release(self, record: SliceRecord) -> None:
        """Nothing of the slice runs any more: its part of the card goes back."""
        if record.card is None:
            return
        self.suspender.forget(record.lease_id)
        self.cdi.remove(record.lease_id)
        self._grants.pop(record.lease_id, None)
        device = self.devices.get(record.device_key)
        if device is not None:
            self.sharing.release(record.lease_id, device, mode=record.card.mode)

    def take_events(self) -> list[tuple[str, str]]:
        """(lease or device key, words) since the last call."""
        return (
            self.cards.take_events()
            + self.suspender.take_events()
            + [(event.key, event.text) for event in (*self.sharing.tend(), *self.door.take_events())]
        )

    def _granted(self, record: SliceRecord, device: Device, mode: str, grant: Grant) -> SliceRecord:
        self._grants[record.lease_id] = grant
        environment = {**grant.environment, **(self._simulated_environment(device) if device.simulated else {})}
        mounts = [(one.source, one.target, one.read_only) for one in grant.mounts]
        mounts += self._driver(simulated=device.simulated, limited=not grant.inert)
        card = SliceCard(
            uuid=device.uuid, mode=mode, isolation=grant.isolation, memory_mib=device.memory_mib,
            share_permille=grant.share_permille, inert=grant.inert, simulated=device.simulated,
            environment=tuple(environment.items()), mounts=tuple(mounts),
        )  # fmt: skip
        return replace(record, card=card, devices=grant.nodes, compute_units=device.time_units)

    def _simulated_environment(self, device: Device) -> dict[str, str]:
        """The loader's list of libraries is the host's, which knows no simulated driver; so it is told the folder."""
        if self.enforcer.has_namespaces:
            return {"LD_LIBRARY_PATH": DRIVER_IN_SLICE}
        return {"LD_LIBRARY_PATH": str(self.config.fake_driver), "VXPU_FAKE_DIR": str(Path(device.nodes[0]).parent)}

    def _driver(self, *, simulated: bool, limited: bool) -> list[tuple[str, str, bool]]:
        """The shim where libcuda is looked for and the real one where the shim looks: what preloading cannot reach.

        The simulated driver lies in a folder of its own. A real one is where the host has it.
        """
        real = self.config.fake_driver / CUDA if simulated else find_driver()
        if real is None or not real.exists():
            sys.stderr.write(f"vxpu-agent: no {real or CUDA}: a slice of a card finds no driver\n")
            return []
        shown = f"{DRIVER_IN_SLICE}/{CUDA}" if simulated else str(real)
        shim = self.config.library.with_name("shim") / CUDA
        mounts = [(str(real.resolve()), shown, True)] if simulated else []
        if limited and shim.exists() and self.config.library.exists():
            mounts = [(str(real.resolve()), REAL_DRIVER, True), (str(shim), shown, True)]
        nvml = real.with_name(NVML)
        if simulated and nvml.exists():
            mounts.append((str(nvml), f"{DRIVER_IN_SLICE}/{NVML}", True))
        return mounts


def _lease(record: SliceRecord) -> CardLease:
    return CardLease(record.lease_id, record.memory_mib, record.share_permille, record.uid, record.slots)
