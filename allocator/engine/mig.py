"""Cards that their own hardware cuts: which pieces there are, where they may begin, and where the next one goes.

A card of that sort has memory slices in a row. An instance takes `length` neighbouring ones, and its profile says at
which it may begin: a legal start has to be free, free capacity alone is not enough. Source: NVIDIA Multi-Instance GPU
User Guide, "Supported MIG Profiles" and the placements of `nvidia-smi mig -lgipp` (start and size in memory slices, as
`nvmlGpuInstancePlacement_t`): seven compute and eight memory slices on A100, H100, H200 and B200, four and four on A30.
Instances with media extensions (`+me`) have the places of their plain profile and are not asked for here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple


class Slots(NamedTuple):
    """Memory slices [start, start + length) of a card."""

    start: int
    length: int


@dataclass(frozen=True, slots=True)
class Profile:
    """`permille` and `mib` are what an instance has; the compute is rounded down, so that all slices sum to a card."""

    name: str
    permille: int
    mib: int
    length: int
    starts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MigLayout:
    """Profiles from the smallest on: by length, then compute."""

    slices: int
    profiles: tuple[Profile, ...]

    def smallest(self, permille: int, mib: int) -> Profile | None:
        """The profile that holds both; None when none does. A place for a larger one always has one for a smaller."""
        return next((one for one in self.profiles if permille <= one.permille and mib <= one.mib), None)


# (compute slices, memory slices, legal starts): the whole card is the last.
_SEVEN = (
    (1, 1, (0, 1, 2, 3, 4, 5, 6)), (1, 2, (0, 2, 4, 6)), (2, 2, (0, 2, 4)), (3, 4, (0, 4)), (4, 4, (0,)),
    (7, 8, (0,)),
)  # fmt: skip
_FOUR = ((1, 1, (0, 1, 2, 3)), (2, 2, (0, 2)), (4, 4, (0,)))
_FAMILIES = (
    (("A100", "H100", "H200", "B200", "GH200", "H20"), 7, 8, _SEVEN),
    (("A30",), 4, 4, _FOUR),
    (("SIMULATED",), 7, 8, _SEVEN),  # native/fake/mig.c
)
# A card that is cut into nobody knows what: it is sold whole or not at all.
UNKNOWN = MigLayout(0, ())


@cache
def layout_of(model: str, mib: int) -> MigLayout | None:
    """How a card of that model with `mib` of memory to sell is cut; None for a model of which that is not known."""
    words = set(model.upper().replace("-", " ").split())
    for names, compute, memory, shapes in _FAMILIES:
        if words & set(names):
            return _layout(compute, memory, shapes, mib)
    return None


def _layout(compute: int, memory: int, shapes: Iterable[tuple[int, int, tuple[int, ...]]], mib: int) -> MigLayout:
    profiles = [
        Profile(
            f"{cores}g" if length == cores or cores >= 3 else f"{cores}g.x{length}",
            1000 * cores // compute, mib * length // memory, length, starts,
        )
        for cores, length, starts in shapes
    ]  # fmt: skip
    return MigLayout(memory, tuple(profiles))


def mask_of(slots: Slots) -> int:
    """A bit for each memory slice."""
    return ((1 << slots.length) - 1) << slots.start


def places_left(layout: MigLayout, busy: int) -> int:
    """How many places (profile, start) are still free beside the busy slices: what a card can yet become."""
    return sum(not busy & mask_of(Slots(start, one.length)) for one in layout.profiles for start in one.starts)


@cache
def choose(layout: MigLayout, profile: Profile, busy: int) -> Slots | None:
    """The free legal start that leaves the most places for what may come; of equals the last. None: there is none.

    One slice taken in the middle of a card ends every larger profile above it. So a 1g goes to the end of an empty
    card (it costs four places there, six at the front), 2g and 3g to its second half: the place of a 4g stays.
    """
    free = [Slots(start, profile.length) for start in profile.starts]
    free = [slots for slots in free if not busy & mask_of(slots)]
    return max(free, key=lambda slots: (places_left(layout, busy | mask_of(slots)), slots.start), default=None)
