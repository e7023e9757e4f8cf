"""`limiter`: all slices share the card, and the library in each of them holds its memory and its time."""

from __future__ import annotations

from agent.devices.nvidia import CardEvent, NvidiaPort
from agent.devices.port import Badge, Device
from agent.enforce.modes.port import CardLease, Grant, Operator
from agent.memory_fence import MemoryFence
from vxpu.states import Isolation


class Limiter:
    name = "limiter"

    def __init__(self, port: NvidiaPort, fence: MemoryFence, operator: Operator) -> None:
        self._port = port
        self._fence = fence
        self._operator = operator

    def fits(self, card: Device, operator: Operator) -> str:
        del operator
        if card.card is not None and card.card.mig is not None and card.card.mig.enabled:
            return "the card is cut by MIG: it has no undivided part to share"
        return ""

    def badge(self, card: Device, operator: Operator) -> Badge:
        return limiter_badge(self._port, self._fence, card, operator)

    def prepare(self, lease: CardLease, card: Device) -> Grant:
        badge = self.badge(card, self._operator)
        return Grant(badge.isolation, badge.detail, nodes=card.nodes, share_permille=lease.share_permille)

    def adopt(self, lease: CardLease, card: Device) -> Grant:
        return self.prepare(lease, card)

    def resize(self, lease: CardLease, card: Device) -> Grant:
        return self.prepare(lease, card)

    def release(self, lease_id: str, card: Device) -> None:
        del lease_id, card  # the region goes with the slice

    def forget_others(self, known: set[str]) -> list[CardEvent]:
        del known
        return []

    def tend(self) -> list[CardEvent]:
        return []


def limiter_badge(port: NvidiaPort, fence: MemoryFence, card: Device, operator: Operator) -> Badge:
    """Strict is against a program that sheds the library: it needs the driver's fence and a count from outside."""
    missing = fence.why_not(card)
    told = "memory fenced by the driver" if not missing else f"memory held by the library ({missing})"
    if not operator.host_is_strict:
        return Badge(Isolation.ADVISORY, f"{told}; time held by the library; nothing keeps a program from leaving it")
    if port.process_memory(card) is None:
        return Badge(Isolation.ADVISORY, f"{told}; time held by the library; the driver lists no processes to audit")
    mode = Isolation.ADVISORY if missing else Isolation.STRICT
    return Badge(mode, f"{told}; time held by the library in each slice; audited from outside by process")
