"""What is asked for: shapes of past requests with weights, in which the old fade."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from allocator.engine.fleet import UNLIMITED, Ask
from allocator.engine.layout import Layout

WHOLE = 1000
# A shape whose share of the mix has faded below this is forgotten.
_FORGOTTEN = 1e-7


class Shape(NamedTuple):
    """An ask without its period: `devices` pieces of one node, and the part of the host beside them.

    `share` is the permille of one device that it keeps others from: its compute or its memory, whichever is more.
    """

    devices: int
    share: int
    cores_milli: int
    models: frozenset[str] | None


class Seen(NamedTuple):
    """A shape and how often it was asked for (any positive scale)."""

    shape: Shape
    weight: float


@dataclass(frozen=True, slots=True)
class Supply:
    """What the fleet has: devices by model, thousandths of a core beside one device (0: no node told), MiB of one.

    `hosts[devices, cores_milli]`: how many nodes have so many; only those that told their cores.
    """

    devices: Mapping[str, int]
    cores_per_device: int
    device_mib: int
    hosts: Mapping[tuple[int, int], int] = field(default_factory=dict)

    @classmethod
    def of(cls, layout: Layout) -> Supply:
        devices: dict[str, int] = {}
        for row in layout.cards:
            for card in row:
                devices[card.model] = devices.get(card.model, 0) + 1
        told = layout.cores < UNLIMITED
        cores = int(layout.cores[told].sum()) // max(1, int(layout.devices[told].sum()))
        hosts = Counter(zip(layout.devices[told].tolist(), layout.cores[told].tolist(), strict=True))
        return cls(devices, cores, int(layout.mib.sum()) // max(1, sum(devices.values())), hosts)


def shape_of(ask: Ask, device_mib: int) -> Shape:
    """`device_mib` is the memory of an average device, to weigh MiB against permille."""
    if ask.devices == 0:
        return Shape(0, 0, ask.cores_milli, None)
    in_memory = -(-ask.mib * WHOLE // device_mib) if device_mib > 0 else 0
    share = WHOLE if ask.whole else min(WHOLE, max(ask.permille, in_memory))
    return Shape(ask.devices, share, ask.cores_milli, ask.models)


@dataclass(slots=True)
class Mix:
    """Counts shapes; after `half_life` further asks an old one counts half."""

    half_life: int
    _weights: dict[Shape, float] = field(default_factory=dict)
    _unit: float = 1.0

    def add(self, shape: Shape, count: float = 1.0) -> None:
        self._weights[shape] = self._weights.get(shape, 0.0) + count * self._unit
        self._unit *= 2.0 ** (count / self.half_life)
        if self._unit > 1e100:
            self._rescale()

    def extend(self, seen: Iterable[Seen]) -> None:
        """A history, all of it as if just asked; it weighs no more than endless asking would, so that it can fade."""
        batch = list(seen)
        total = sum(weight for _, weight in batch)
        most = self.half_life / math.log(2.0)
        scale = self._unit * min(1.0, most / total if total > 0 else 1.0)
        for shape, weight in batch:
            self._weights[shape] = self._weights.get(shape, 0.0) + weight * scale

    def seen(self) -> list[Seen]:
        """In an order that depends on the shapes alone. The newest ask weighs 1."""
        total = sum(self._weights.values())
        kept = [(shape, weight) for shape, weight in self._weights.items() if weight > _FORGOTTEN * total]
        return [Seen(shape, weight / self._unit) for shape, weight in sorted(kept, key=lambda one: sort_key(one[0]))]

    def _rescale(self) -> None:
        self._weights = {shape: weight / self._unit for shape, weight in self._weights.items()}
        self._unit = 1.0


def sort_key(shape: Shape) -> tuple[int, int, int, tuple[str, ...]]:
    return (shape.devices, shape.share, shape.cores_milli, tuple(sorted(shape.models or ())))
