"""A card's calendar as it is drawn: where a slice still fits, and a row for each piece that is taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

from allocator.engine.fleet import FOREVER, Ask, Card, Taken
from allocator.engine.later import is_sellable


class Span(NamedTuple):
    """Half-open."""

    starts: int
    ends: int


class _Load(NamedTuple):
    """What is taken at an instant, or by how much that changes there."""

    permille: int = 0
    mib: int = 0
    pieces: int = 0
    wholes: int = 0
    closures: int = 0

    def plus(self, other: _Load, sign: int = 1) -> _Load:
        return _Load(*(mine + sign * theirs for mine, theirs in zip(self, other, strict=True)))


def free_spans(card: Card, ask: Ask) -> list[Span]:
    """The parts of the ask's period in which its size fits, in order, longest possible. One sweep over the edges."""
    if ask.starts >= ask.ends or not is_sellable(card, ask):
        return []
    loads = [(piece.starts, piece.ends, _Load(piece.permille, piece.mib, 1, int(piece.whole))) for piece in card.taken]
    loads += [(closed.starts, closed.ends, _Load(closures=1)) for closed in card.closed]
    edges: dict[int, _Load] = defaultdict(_Load)
    edges[ask.starts] = edges[ask.ends] = _Load()
    for starts, ends, load in loads:
        if starts < ask.ends and ask.starts < ends:
            edges[max(starts, ask.starts)] = edges[max(starts, ask.starts)].plus(load)
            edges[min(ends, ask.ends)] = edges[min(ends, ask.ends)].plus(load, -1)
    spans: list[Span] = []
    now = _Load()
    for instant, following in pairwise(sorted(edges)):
        now = now.plus(edges[instant])
        if _fits(card, ask, now):
            joined = spans and spans[-1].ends == instant
            spans.append(Span(spans.pop().starts if joined else instant, following))
    return spans


def _fits(card: Card, ask: Ask, load: _Load) -> bool:
    if load.closures or load.wholes or (ask.whole and load.pieces):
        return False
    return load.permille + ask.permille <= card.permille and load.mib + ask.mib <= card.mib


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
