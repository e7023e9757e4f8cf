"""When each wish of a queue would start: the calendar replayed, with guesses for what has no end.

A replay gives every wish, in the order given, the earliest room that is left when all before it have theirs
(conservative: nobody passes anybody into trouble). Leases without an end, and wishes without one, last as the replay's
guess says; without a guess for ever. Several replays with other guesses give quantiles of each start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import NamedTuple
from uuid import UUID

from allocator.engine.fit import asked_size
from allocator.engine.fleet import FOREVER, Ask, Card, Fleet, HostTaken, Machine, Taken, sort_key
from allocator.engine.later import next_free
from allocator.engine.lineup import Waiting, moved

# A gang's members must agree on one start; so many rounds of "then all of you at the latest of these".
ROUNDS = 8
# The version of a card that was not looked at for a shape.
UNSEEN = -1


class Guesses(NamedTuple):
    """Of one replay: when open leases end, and how long open wishes last. What is not there never ends."""

    ends: Mapping[UUID, int]
    lengths: Mapping[UUID, int]


def replay(fleet: Fleet, queue: Sequence[Waiting], *, guesses: Guesses) -> list[int | None]:
    """The start of each, in the order given; None for never."""
    board = _Board(fleet, guesses)
    return [board.seat(one) for one in queue]


def quantile(starts: Sequence[int | None], permille: int) -> int | None:
    """The smallest start by which so many of the replays have begun; None if that is "never" or there are none."""
    ordered = sorted(FOREVER if start is None else start for start in starts)
    at = ordered[max(0, -(-len(ordered) * permille // 1000) - 1)] if ordered else FOREVER
    return None if at == FOREVER else at


class _Board:
    def __init__(self, fleet: Fleet, guesses: Guesses) -> None:
        self._guesses = guesses
        self._cards = [_with_ends(card, guesses.ends) for card in fleet.cards]
        self._machines = {machine.node_id: _host_with_ends(machine, guesses.ends) for machine in fleet.machines}
        self._versions = [0] * len(self._cards)
        # Of each shape the cards by start. An entry of another version is a lower bound, for room only shrinks: it is
        # looked at when it comes to the top, and most never do.
        self._heaps: dict[Ask, list[tuple[int, int, int]]] = {}

    def seat(self, one: Waiting) -> int | None:
        asks = [self._with_end(ask, one.id) for ask in one.asks]
        return self._take(asks[0], one.id) if len(asks) == 1 else self._seat_gang(one.id, asks)

    def _seat_gang(self, waiting_id: UUID, asks: Sequence[Ask]) -> int | None:
        """A start at which each member finds room beside the others, whatever device."""
        start = max(ask.starts for ask in asks)
        for _ in range(ROUNDS):
            before = (list(self._cards), dict(self._machines), list(self._versions))
            starts = [self._take(moved(ask, start), waiting_id) for ask in asks]
            known = [at for at in starts if at is not None]
            if len(known) == len(starts) and len(set(known)) == 1:
                return known[0]
            self._cards, self._machines, self._versions = before
            self._heaps.clear()
            if len(known) < len(starts):
                break
            start = max(known)
        return None

    def _with_end(self, ask: Ask, waiting_id: UUID) -> Ask:
        length = self._guesses.lengths.get(waiting_id)
        return ask if ask.ends != FOREVER or length is None else replace(ask, ends=ask.starts + length)

    def _take(self, ask: Ask, waiting_id: UUID) -> int | None:
        heap = self._heap(ask)
        while heap:
            start, index, version = heap[0]
            if version == self._versions[index]:
                self._place(index, moved(ask, start), waiting_id)
                return start
            heappop(heap)
            self._push(heap, ask, index)
        return None

    def _heap(self, ask: Ask) -> list[tuple[int, int, int]]:
        heap = self._heaps.get(ask)
        if heap is None:
            cards = enumerate(self._cards)
            bounds = [(_not_before(card, ask), index, UNSEEN) for index, card in cards if _is_of_sort(card, ask)]
            heap = self._heaps[ask] = [entry for entry in bounds if entry[0] < FOREVER]
            heapify(heap)
        return heap

    def _push(self, heap: list[tuple[int, int, int]], ask: Ask, index: int) -> None:
        card = self._cards[index]
        start = next_free(card, ask, self._machines[card.node_id])
        if start is not None:
            heappush(heap, (start, index, self._versions[index]))

    def _place(self, index: int, ask: Ask, waiting_id: UUID) -> None:
        card = self._cards[index]
        size = asked_size(card, ask)
        taken = Taken(lease_id=waiting_id, starts=ask.starts, ends=ask.ends, permille=size.permille, mib=size.mib,
                      whole=ask.whole, copy_permille=ask.copy_permille)  # fmt: skip
        self._cards[index] = replace(card, taken=tuple(sorted((*card.taken, taken), key=sort_key)))
        self._versions[index] += 1
        if ask.cores_milli or ask.host_mib:
            self._place_on_host(card.node_id, ask, waiting_id)

    def _place_on_host(self, node_id: UUID, ask: Ask, waiting_id: UUID) -> None:
        machine = self._machines[node_id]
        taken = HostTaken(
            lease_id=waiting_id, starts=ask.starts, ends=ask.ends, cores_milli=ask.cores_milli, mib=ask.host_mib
        )
        self._machines[node_id] = replace(machine, taken=tuple(sorted((*machine.taken, taken), key=sort_key)))
        for index, card in enumerate(self._cards):
            if card.node_id == node_id:
                self._versions[index] += 1


def _is_of_sort(card: Card, ask: Ask) -> bool:
    """A quick no; the rest is found when the card is looked at."""
    return (ask.kind is None or card.kind == ask.kind) and ask.device_id in {None, card.device_id}


def _not_before(card: Card, ask: Ask) -> int:
    """No start before this: what is taken at the wished start must go first, if the ask does not fit beside it."""
    there = [piece for piece in card.taken if piece.starts <= ask.starts < piece.ends]
    permille = sum(piece.permille for piece in there)
    mib = sum(piece.mib for piece in there)
    whole = bool(there) and (ask.whole or any(piece.whole for piece in there))
    if whole or permille + ask.permille > card.permille or mib + ask.mib > card.mib:
        return min((piece.ends for piece in there), default=ask.starts)
    return ask.starts


def _with_ends(card: Card, ends: Mapping[UUID, int]) -> Card:
    if not any(piece.ends == FOREVER and piece.lease_id in ends for piece in card.taken):
        return card
    taken = [
        replace(piece, ends=ends[piece.lease_id]) if piece.ends == FOREVER and piece.lease_id in ends else piece
        for piece in card.taken
    ]
    return replace(card, taken=tuple(sorted(taken, key=sort_key)))


def _host_with_ends(machine: Machine, ends: Mapping[UUID, int]) -> Machine:
    taken = [
        replace(piece, ends=ends[piece.lease_id]) if piece.ends == FOREVER and piece.lease_id in ends else piece
        for piece in machine.taken
    ]
    return replace(machine, taken=tuple(sorted(taken, key=sort_key)))
