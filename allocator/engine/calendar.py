"""A card's calendar as it is drawn: where a slice still fits, and a row for each piece that is taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple
from uuid import UUID

from allocator.engine.fit import asked_size
from allocator.engine.fleet import FOREVER, Ask, Card, Machine, Taken
from allocator.engine.later import is_sellable
from allocator.engine.mig import choose, mask_of


class Span(NamedTuple):
    """Half-open."""

    starts: int
    ends: int


class _Load(NamedTuple):
    """What is taken at an instant, or by how much that changes there. `busy` counts by memory slice."""

    permille: int = 0
    mib: int = 0
    copy_permille: int = 0
    pieces: int = 0
    wholes: int = 0
    closures: int = 0
    cores_milli: int = 0
    host_mib: int = 0
    busy: tuple[int, ...] = ()

    def plus(self, other: _Load, sign: int = 1) -> _Load:
        sums = [mine + sign * theirs for mine, theirs in zip(self[:-1], other[:-1], strict=True)]
        busy = tuple(mine + sign * theirs for mine, theirs in zip_longest(self.busy, other.busy, fillvalue=0))
        return _Load._make([*sums, busy])


def free_spans(card: Card, ask: Ask, machine: Machine | None = None) -> list[Span]:
    """The parts of the ask's period at every instant of which its size fits, in order, longest possible.

    One sweep over the edges of the card's calendar and, if its machine is given, of the host's. On a card that is cut
    an instant fits when some start is free then; a lease over a whole span also needs one start for all of it.
    """
    if not ask.is_possible or not is_sellable(card, ask, machine):
        return []
    edges: dict[int, _Load] = defaultdict(_Load)
    edges[ask.starts] = edges[ask.ends] = _Load()
    for starts, ends, load in _loads(card, machine):
        if starts < ask.ends and ask.starts < ends:
            edges[max(starts, ask.starts)] = edges[max(starts, ask.starts)].plus(load)
            edges[min(ends, ask.ends)] = edges[min(ends, ask.ends)].plus(load, -1)
    spans: list[Span] = []
    now = _Load()
    for instant, following in pairwise(sorted(edges)):
        now = now.plus(edges[instant])
        if _fits(card, ask, now, machine):
            joined = spans and spans[-1].ends == instant
            spans.append(Span(spans.pop().starts if joined else instant, following))
    return spans


def _loads(card: Card, machine: Machine | None) -> Iterator[tuple[int, int, _Load]]:
    for piece in card.taken:
        busy = 0 if piece.slots is None else mask_of(piece.slots)
        yield piece.starts, piece.ends, _Load(
            piece.permille, piece.mib, piece.copy_permille, 1, int(piece.whole),
            busy=tuple(busy >> slot & 1 for slot in range(busy.bit_length())),
        )  # fmt: skip
    for closed in card.closed:
        yield closed.starts, closed.ends, _Load(closures=1)
    for host in () if machine is None else machine.taken:
        yield host.starts, host.ends, _Load(cores_milli=host.cores_milli, host_mib=host.mib)


def _fits(card: Card, ask: Ask, load: _Load, machine: Machine | None) -> bool:
    if machine is not None and (
        (ask.cores_milli and load.cores_milli + ask.cores_milli > machine.cores_milli)
        or (ask.host_mib and load.host_mib + ask.host_mib > machine.mib)
    ):
        return False
    if load.closures or load.wholes or ask.whole:
        return not (load.closures or load.pieces)
    size = asked_size(card, ask)
    if load.permille + size.permille > card.permille or load.mib + size.mib > card.mib:
        return False
    if ask.copy_permille and load.copy_permille + ask.copy_permille > card.copy_permille:
        return False
    profile = None if card.mig is None else card.mig.smallest(ask.permille, ask.mib)
    busy = sum(1 << slot for slot, count in enumerate(load.busy) if count)
    return card.mig is None or profile is None or choose(card.mig, profile, busy) is not None


def lanes(taken: Sequence[Taken]) -> list[int]:
    """A row for each piece, from 0, such that no two in a row overlap; the pieces of a lease stay in one if they can.

    `taken` is in a card's order, so the same calendar always gives the same rows.
    """
    busy_until: list[int] = []
    last_of: dict[UUID, int] = {}
    found = []
    for piece in taken:
        free = [lane for lane, until in enumerate(busy_until) if until <= piece.starts]
        before = last_of.get(piece.lease_id)
        lane = before if before in free else min(free, default=len(busy_until))
        if lane == len(busy_until):
            busy_until.append(FOREVER)
        busy_until[lane] = piece.ends
        last_of[piece.lease_id] = lane
        found.append(lane)
    return found
