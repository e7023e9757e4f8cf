"""How long what has no end will last, drawn from what such things lasted before. No global random: a lattice.

The draws of one thing over the replays are the points of a Kronecker sequence (a step of the golden ratio, started at
the thing's own id): spread evenly over its quantiles, other for each thing, and the same at every call.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from uuid import UUID

# 2^32 divided by the golden ratio.
_GOLDEN = 2_654_435_769
_WHOLE = 1 << 32
# Fewer than these tell nothing.
FEWEST = 5


def draw(lasted: Sequence[int], *, thing: UUID, replay: int, beyond: int = 0) -> int | None:
    """One of `lasted` (sorted, seconds) that is longer than `beyond`; None if too few are known, or none is longer."""
    first = bisect_right(lasted, beyond)
    if len(lasted) < FEWEST or first == len(lasted):
        return None
    point = (thing.int + replay * _GOLDEN) % _WHOLE
    return lasted[first + point * (len(lasted) - first) // _WHOLE]


def delay_s(attempts: int, *, first_s: int, most_s: int) -> int:
    """How long to wait after so many failed tries: doubling, up to `most_s`."""
    return min(most_s, first_s << min(max(0, attempts - 1), 30))
