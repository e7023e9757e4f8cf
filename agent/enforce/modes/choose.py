"""Which mode a card is sold in, and which one a lease gets: by what the card can do and the operator allows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agent.config import Config
from agent.devices.nvidia import CardEvent, NvidiaPort
from agent.devices.port import Badge, Device
from agent.enforce.cgroup_v2 import HomeV2
from agent.enforce.modes.exclusive import Exclusive
from agent.enforce.modes.limiter import Limiter
from agent.enforce.modes.mig import Mig
from agent.enforce.modes.mps import Mps
from agent.enforce.modes.port import AUTO, CARD_MODES, CannotShare, CardLease, CardMode, Grant, Operator
from agent.enforce.port import Enforcer
from agent.enforce.strict import Strict
from agent.memory_fence import MemoryFence
from vxpu.states import DeviceKind, Isolation

# Without a word of the operator: what the card was set up for, else the library. MPS only if asked for: one tenant's
# fault ends the others' programs there.
AUTOMATIC = ("mig", "limiter")


class CardSharing:
    """All modes of this node. A lease keeps the mode in which it was made; the caller remembers its name."""

    def __init__(self, port: NvidiaPort, operator: Operator, fence: MemoryFence, *, state_dir: Path, run_dir: Path
                 ) -> None:  # fmt: skip
        self.operator = operator
        self.fence = fence
        made: tuple[CardMode, ...] = (
            Exclusive(port, operator, state_dir), Mig(port, state_dir), Mps(run_dir), Limiter(port, fence, operator),
        )  # fmt: skip
        self.modes: dict[str, CardMode] = {mode.name: mode for mode in made}

    def mode_of(self, card: Device) -> CardMode:
        """In which the card is sold. A wish that the card cannot fulfil stands: it sells nothing, and says why."""
        wish = self.operator.wish(card)
        if wish != AUTO:
            return self.modes[wish]
        fitting = (self.modes[name] for name in AUTOMATIC if not self.modes[name].fits(card, self.operator))
        return next(fitting, self.modes["limiter"])

    def badge(self, card: Device) -> Badge | None:
        """None for a device that is no card."""
        if card.kind != DeviceKind.NVIDIA:
            return None
        mode = self.mode_of(card)
        missing = mode.fits(card, self.operator)
        if missing:
            return Badge(Isolation.ADVISORY, f"nothing can be made on this card now: {missing}")
        return mode.badge(card, self.operator)

    def for_lease(self, lease: CardLease, card: Device) -> CardMode:
        """Raises CannotShare with what stands in the way. The whole of an undivided card needs no limiter."""
        mode = self.mode_of(card)
        if mode.name in {"limiter", "mps"} and lease.is_whole(card):
            mode = self.modes["exclusive"]
        missing = mode.fits(card, self.operator)
        if missing:
            raise CannotShare(missing)
        return mode

    def prepare(self, lease: CardLease, card: Device, *, mode: str = "") -> tuple[str, Grant]:
        """(mode's name to remember, what the slice gets). `mode`: the one that the lease has already."""
        chosen = self.modes[mode] if mode else self.for_lease(lease, card)
        return chosen.name, chosen.prepare(lease, card)

    def adopt(self, lease: CardLease, card: Device, *, mode: str) -> Grant:
        return self.modes[mode].adopt(lease, card)

    def resize(self, lease: CardLease, card: Device, *, mode: str) -> Grant:
        return self.modes[mode].resize(lease, card)

    def release(self, lease_id: str, card: Device, *, mode: str) -> None:
        self.modes[mode].release(lease_id, card)

    def forget_others(self, known: set[str]) -> list[CardEvent]:
        """After a start, when every lease that runs has been adopted."""
        return [event for mode in self.modes.values() for event in mode.forget_others(known)]

    def tend(self) -> list[CardEvent]:
        return [event for mode in self.modes.values() for event in mode.tend()]


def open_sharing(config: Config, port: NvidiaPort, enforcer: Enforcer) -> CardSharing:
    """Raises ValueError for a card mode that is none."""
    general, by_card = parse_card_modes(config.card_mode)
    operator = Operator(
        mode=general, modes=by_card, host_is_strict=enforcer.isolation == Isolation.STRICT,
        sets_compute_mode=config.cards.compute_mode == "exclusive",
    )  # fmt: skip
    home = enforcer.home if isinstance(enforcer, Strict) else None
    fence = MemoryFence(port, groups=home.folder if isinstance(home, HomeV2) else None)
    return CardSharing(port, operator, fence, state_dir=config.state_dir, run_dir=config.run_dir)


def parse_card_modes(text: str) -> tuple[str, Mapping[str, str]]:
    """ "limiter", or "auto,GPU-1234=mig,GPU-5678=mps": (for every card, by UUID). Raises ValueError."""
    general, by_card = AUTO, {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        uuid, separator, mode = part.rpartition("=")
        if mode not in {AUTO, *CARD_MODES}:
            raise ValueError(f"{mode!r} is no card mode: one of {AUTO}, {', '.join(CARD_MODES)}")
        if separator:
            by_card[uuid] = mode
        else:
            general = mode
    return general, by_card
