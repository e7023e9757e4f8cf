"""One door per vendor library. An unsupported reading is None with quality "unavailable", never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from vxpu.states import DeviceKind, Isolation, Quality
from vxpu.wire.node import CardReport, DeviceReport, Reading


@dataclass(frozen=True, slots=True)
class Badge:
    """What is enforced, and in words how and what is not."""

    isolation: Isolation
    detail: str


@dataclass(frozen=True, slots=True)
class Device:
    """What a door found. `icd`: the OpenCL driver that a slice of it sees; `nodes`: its names under /dev, or paths of
    the host that a slice is to see there by their last part (a simulated card).

    `fenced`: the machine's strict mode really covers this kind of device (a CPU by its cgroup). `card` is what only an
    NVIDIA card has.
    """

    key: str
    kind: DeviceKind
    model: str
    vendor: str
    compute_units: int
    memory_mib: int
    capacity_mib: int
    capacity_permille: int
    icd: str = ""
    nodes: tuple[str, ...] = ()
    fenced: bool = False
    simulated: bool = False
    note: str = ""
    readings: Mapping[str, Reading] = field(default_factory=dict)
    card: CardReport | None = None

    @property
    def uuid(self) -> str:
        """The vendor's name of the card; empty for a device without one."""
        return "" if self.card is None else self.card.uuid

    @property
    def time_units(self) -> int:
        """How many of it compute at once as shares count it: a card is one, a CPU is its processors."""
        return 1 if self.kind == DeviceKind.NVIDIA else self.compute_units

    def report(self, *, isolation: Isolation, detail: str, badge: Badge | None = None) -> DeviceReport:
        """`badge`: what a card's mode enforces, in place of what the machine's mode says of it."""
        mode = isolation if self.fenced else Isolation.ADVISORY
        if badge is not None:
            mode, detail = badge.isolation, badge.detail
        return DeviceReport(
            key=self.key, kind=self.kind, model=self.model[:128], vendor=self.vendor[:128], simulated=self.simulated,
            compute_units=self.compute_units, memory_mib=self.memory_mib, capacity_mib=self.capacity_mib,
            capacity_permille=self.capacity_permille, isolation=mode,
            isolation_detail="; ".join(part for part in (self.note, detail) if part)[:400],
            readings=dict(self.readings), card=self.card,
        )  # fmt: skip


class DevicePort(Protocol):
    """A vendor's door: what is here, and what it reads now."""

    def discover(self) -> list[Device]: ...

    def read(self, device: Device, *, at: datetime) -> dict[str, Reading]: ...


def measured(value: int | None, *, at: datetime) -> Reading:
    """A reading taken at `at`, or the honest absence of one."""
    if value is None:
        return Reading(value=None, at=None, quality=Quality.UNAVAILABLE)
    return Reading(value=value, at=at, quality=Quality.MEASURED)


def less_reserve(amount: int, reserve_permille: int) -> int:
    """What is left to sell of `amount`, rounded down, at least 1."""
    return max(1, amount * (1000 - reserve_permille) // 1000)
