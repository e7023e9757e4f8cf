"""What a history of asks teaches about places: see `learn`. Small, frozen, and safe to store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from allocator.engine.books import Ints
from allocator.engine.mix import WHOLE

# Nothing is known: what is left is worth what it is.
LINEAR = tuple(range(WHOLE + 1))


@dataclass(frozen=True, slots=True)
class Lessons:
    """`values[r]`: what a device with r permille left is worth, in thousandths of a whole one; grows from 0 to 1000.
    `cores_per_device`: thousandths of a core that usual asks bring along for a device (0: nothing is known).
    `scarcity[model]`: how much more one of these is needed than the least needed model, in thousandths.
    `spare_up_to`: nodes with no more devices than this have the cores to spare that usual asks without devices want
    (0: only all nodes together have them, or not even these, or nothing is known).
    `largest`: the most devices together that are usually asked for."""

    values: tuple[int, ...] = LINEAR
    cores_per_device: int = 0
    scarcity: Mapping[str, int] = field(default_factory=dict)
    spare_up_to: int = 0
    largest: int = 1
    table: Ints = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.values) != WHOLE + 1:
            raise ValueError(f"{len(self.values)} values, not {WHOLE + 1}")
        object.__setattr__(self, "table", np.array(self.values, np.int64))
