"""What a slice took since it began, read outside the guest, in the units of its own device.

A slice of the processors is counted by its control group. Of a card the door to the vendor's library tells device time
and memory by process (card_meter.py). The meter and the live samples see one shape either way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from agent.enforce.port import Enforcer
from agent.host import WaitingTime, host_time
from agent.state import SliceRecord


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters since the slice was made, but for `memory_bytes`, which is now. `peak_bytes` None: it is not told.

    `compute_ns` is time of the device: of processors, or of the card. `waiting_ns` sums how long the slice's work
    stood in line for it, `idle_ns` of `whole_ns` is how much of the device nobody used.
    """

    compute_ns: int
    throttled_ns: int = 0
    waiting_ns: int = 0
    idle_ns: int = 0
    whole_ns: int = 0
    memory_bytes: int = 0
    peak_bytes: int | None = None


class CardCounters(Protocol):
    """What counts slices of cards; None: not yet."""

    def counters(self, lease_id: str) -> Counters | None: ...


class Gauge:
    """Reads any slice of the node. Raises FileNotFoundError when its group is gone; not thread-safe."""

    def __init__(self, enforcer: Enforcer, cards: CardCounters) -> None:
        self.enforcer = enforcer
        self.cards = cards
        self._waiting: dict[str, WaitingTime] = {}

    def read(self, record: SliceRecord) -> Counters | None:
        """None: the slice is of a card that could not be read so far."""
        return self._of_processors(record) if record.card is None else self.cards.counters(record.lease_id)

    def forget(self, lease_id: str) -> None:
        self._waiting.pop(lease_id, None)

    def _of_processors(self, record: SliceRecord) -> Counters:
        sample = self.enforcer.sample(record.spec)
        pids = self.enforcer.processes(record.spec)
        waiting = self._waiting.setdefault(record.lease_id, WaitingTime())
        host = host_time()
        return Counters(
            compute_ns=sample.cpu_ns,
            throttled_ns=sample.throttled_ns,
            waiting_ns=waiting.update(pids) if pids else waiting.total_ns,
            idle_ns=host.idle_ns,
            whole_ns=host.total_ns,
            memory_bytes=sample.memory_bytes,
            peak_bytes=sample.peak_bytes,
        )
