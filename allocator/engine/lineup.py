"""A queue against the calendar, in the order given: who starts now, and which room is kept clear for whom.

EASY backfilling (D. Lifka, "The ANL/IBM SP Scheduling System", JSSPP 1995): the first of those that compete for the
same devices and must wait gets the earliest room that the calendar has for it, and that room is kept clear; whoever
comes behind starts now only beside it. What is booked is in the calendar and never delayed. Room that is kept lies on
named devices, so nobody waits for a wish of another kind, model, pool or site.

A wish that `collects` has waited for very long and has no end in sight, because what is before it is open-ended. Then
the device that is nearest to room for it takes nothing new until it fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from uuid import UUID

from allocator.engine.draft import Draft, NotPlaced
from allocator.engine.fleet import FOREVER, Ask, Card, Taken
from allocator.engine.gang import Together, place_gang
from allocator.engine.later import is_sellable
from allocator.engine.policies import POLICIES
from allocator.engine.search import Ranker
from allocator.engine.ways import earliest

# How many starts of a gang are tried.
STARTS = 64
_POLICY = POLICIES["binpack"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A wish, or a gang as one. `collect_on` is the device that it collects already."""

    id: UUID
    asks: tuple[Ask, ...]
    together: Together = Together.ANY
    collects: bool = False
    collect_on: UUID | None = None


class Kept(NamedTuple):
    """A piece of a device's calendar that is kept clear."""

    device_id: UUID
    taken: Taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """`fits`: it starts as wished. Else `counts` of the constraints, and the room that is `kept` for it, if any, which
    begins at `starts` (None while it collects)."""

    id: UUID
    fits: bool
    starts: int | None = None
    kept: tuple[Kept, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)


def line_up(draft: Draft, queue: Iterable[Waiting]) -> list[Stand]:
    """One answer a wish, in the order given. What starts, and what is kept, is in the draft then."""
    line = _Line(draft)
    return [line.stand(one) for one in queue]


def competes(one: Ask, other: Ask) -> bool:
    """May the two want the same device?"""
    pairs = [
        (one.kind, other.kind), (one.device_id, other.device_id), (one.pool, other.pool), (one.site, other.site),
    ]  # fmt: skip
    if any(a is not None and b is not None and a != b for a, b in pairs):
        return False
    return one.models is None or other.models is None or bool(one.models & other.models)


def moved(ask: Ask, starts: int) -> Ask:
    """The same for as long, from another start."""
    return replace(ask, starts=starts, ends=FOREVER if ask.ends == FOREVER else starts + ask.ends - ask.starts)


class _Line:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._rankers: dict[tuple[int, int], Ranker] = {}
        self._heads: list[Ask] = []
        # Room only shrinks: what did not fit will not fit later on.
        self._refused: dict[tuple[Ask, ...], dict[str, int]] = {}

    def stand(self, one: Waiting) -> Stand:
        if one.asks not in self._refused and self._place(one):
            return Stand(id=one.id, fits=True, starts=one.asks[0].starts)
        if one.asks not in self._refused:
            found = self._ranker(one.asks[0]).view.counts(one.asks[0])
            self._refused[one.asks] = found or {"not_together": len(one.asks)}
        counts = self._refused[one.asks]
        if any(competes(ask, head) for ask in one.asks for head in self._heads):
            return Stand(id=one.id, fits=False, counts=counts)
        kept = self._keep_clear(one)
        if kept:
            self._heads.extend(one.asks)
        starts = kept[0].taken.starts if kept and kept[0].taken.starts > one.asks[0].starts else None
        return Stand(id=one.id, fits=False, counts=counts, kept=tuple(kept), starts=starts)

    def _ranker(self, ask: Ask) -> Ranker:
        window = (ask.starts, ask.ends)
        if window not in self._rankers:
            self._rankers[window] = Ranker(self._draft.view(*window), _POLICY)
        return self._rankers[window]

    def _place(self, one: Waiting) -> bool:
        if not all(self._fits_at_first(ask) for ask in set(one.asks)):
            return False
        if len(one.asks) > 1:
            return self._place_gang(one, one.asks) is not None
        ask = one.asks[0]
        found = self._ranker(ask).best(ask)
        if found is not None:
            self._draft.take(found.row, found.columns, ask, lease_id=one.id)
        return found is not None

    def _fits_at_first(self, ask: Ask) -> bool:
        """Most wishes that wait do not even fit for an instant; that is one view for all of them."""
        instant = replace(ask, ends=ask.starts + 1)
        takes, _ = self._ranker(instant).view.rows_that_fit(instant, slice(None))
        return bool(takes.any())

    def _place_gang(self, one: Waiting, asks: Sequence[Ask]) -> list[Kept] | None:
        mark = self._draft.mark()
        try:
            place_gang(self._draft, asks, together=one.together, policy=_POLICY, lease_ids=[one.id] * len(asks))
        except NotPlaced:
            self._draft.rollback(mark)
            return None
        return self._pieces(one.id)

    def _pieces(self, waiting_id: UUID) -> list[Kept]:
        found = self._draft.pieces_of(waiting_id)
        return [Kept(place_id, piece) for place_id, piece in found if isinstance(piece, Taken)]

    def _keep_clear(self, one: Waiting) -> list[Kept]:
        if len(one.asks) > 1:
            return self._keep_gang(one)
        ask = one.asks[0]
        later = earliest(self._draft, ask)
        if later is not None:
            taken = self._draft.place(later.card.device_id, moved(ask, later.starts), lease_id=one.id)
            return [Kept(later.card.device_id, taken)]
        return self._collect(one) if one.collects else []

    def _keep_gang(self, one: Waiting) -> list[Kept]:
        """At the first end of something at which all of them fit."""
        first = one.asks[0].starts
        ends = {piece.ends for card in self._draft.fleet().cards for piece in card.taken if piece.ends > first}
        for start in sorted(ends - {FOREVER})[:STARTS]:
            kept = self._place_gang(one, [moved(ask, start) for ask in one.asks])
            if kept is not None:
                return kept
        return []

    def _collect(self, one: Waiting) -> list[Kept]:
        ask = replace(one.asks[0], ends=FOREVER)
        fleet = self._draft.fleet()
        machines = {machine.node_id: machine for machine in fleet.machines}
        cards = [card for card in fleet.cards if card.mig is None and is_sellable(card, ask, machines[card.node_id])]
        if not cards:
            return []
        best = min(cards, key=lambda card: (card.device_id != one.collect_on, _missing(card, ask), card.device_id))
        row, column = self._draft.layout.place_of[best.device_id]
        return [Kept(best.device_id, self._draft.take(row, (column,), ask, lease_id=one.id)[0])]


def _missing(card: Card, ask: Ask) -> int:
    """How much must go from the card before the ask fits, in thousandths of what it asks; open ends count alone."""
    stay = [piece for piece in card.taken if piece.ends == FOREVER]
    if ask.whole:
        return sum(piece.permille for piece in stay)
    permille = sum(piece.permille for piece in stay) + ask.permille - card.permille
    mib = sum(piece.mib for piece in stay) + ask.mib - card.mib
    return max(0, permille * 1000 // ask.permille, mib * 1000 // max(1, ask.mib))
