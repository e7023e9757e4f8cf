"""How a card is shared: the same verbs whichever way it is cut. One file a mode; choose.py picks one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agent.devices.nvidia import CardEvent
from agent.devices.port import Badge, Device
from vxpu.states import Isolation
from vxpu.units import WHOLE_PERMILLE

AUTO = "auto"
CARD_MODES = ("exclusive", "mig", "mps", "limiter")


class CannotShare(RuntimeError):
    """The card cannot be given out this way now; the text is for the buyer and the operator."""


@dataclass(frozen=True, slots=True)
class Operator:
    """What the operator allows. `mode` for every card that `modes` (by UUID) does not name.

    `host_is_strict`: own uids and cgroups on this machine; without them the library is all there is.
    `sets_compute_mode`: a card that is sold whole may be put into "one process at a time" and back.
    """

    mode: str = AUTO
    modes: Mapping[str, str] = field(default_factory=dict)
    host_is_strict: bool = False
    sets_compute_mode: bool = False

    def wish(self, card: Device) -> str:
        return self.modes.get(card.uuid, self.mode)


@dataclass(frozen=True, slots=True)
class CardLease:
    """A lease as a mode needs it. `uid` runs its programs; `slots` (first, end) is its place on a card that is cut."""

    lease_id: str
    memory_mib: int
    share_permille: int
    uid: int = 0
    slots: tuple[int, int] | None = None

    def is_whole(self, card: Device) -> bool:
        return self.share_permille >= WHOLE_PERMILLE and self.memory_mib >= card.capacity_mib


@dataclass(frozen=True, slots=True)
class Mount:
    """A path of the host that the slice sees at `target`."""

    source: str
    target: str
    read_only: bool = True


@dataclass(frozen=True, slots=True)
class Grant:
    """What a slice gets of a card. `nodes` as those of `Device`.

    `share_permille` is what the library still has to hold, of what the mode hands out: 875 of a MIG instance that is
    2/7 of a card is 250 of the card. `inert`: the library is to stand aside.
    """

    isolation: Isolation
    detail: str
    nodes: tuple[str, ...]
    share_permille: int
    environment: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    inert: bool = False


class CardMode(Protocol):
    """Every method but `fits` and `badge` may be repeated after a crash at any point, and raises CannotShare."""

    name: str

    def fits(self, card: Device, operator: Operator) -> str:
        """Why this card cannot be shared so; empty when it can. Changes nothing."""

    def badge(self, card: Device, operator: Operator) -> Badge:
        """What a buyer of a slice of this card is told."""

    def prepare(self, lease: CardLease, card: Device) -> Grant:
        """Make the lease's part of the card, or find it as it was made before."""

    def adopt(self, lease: CardLease, card: Device) -> Grant:
        """After a start of the agent: the part of a lease that runs. Must not disturb it."""

    def resize(self, lease: CardLease, card: Device) -> Grant:
        """New size for a lease that runs; CannotShare leaves the old one."""

    def release(self, lease_id: str, card: Device) -> None:
        """Give the part back; the lease's processes are gone."""

    def forget_others(self, known: set[str]) -> list[CardEvent]:
        """Undo what was made for leases that nobody remembers; only what this mode itself noted down."""

    def tend(self) -> list[CardEvent]:
        """Called every second or so: look after whatever the mode keeps running."""
