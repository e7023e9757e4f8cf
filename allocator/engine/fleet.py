"""The fleet as a frozen snapshot: cards with their calendars."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

FOREVER = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Capacity taken on a card for [starts, ends). `whole` excludes every lease that is not whole too."""

    lease_id: UUID
    starts: int
    ends: int
    permille: int
    mib: int
    whole: bool = False


class Closed(NamedTuple):
    """The node is in maintenance for [starts, ends)."""

    starts: int
    ends: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One device. `isolation_rank` is 0 for the strongest mode; `taken` is sorted by (starts, ends, lease).

    A `cordoned` card takes nothing new, whatever the period; `closed` are the periods into which nothing new may reach.
    """

    device_id: UUID
    node_id: UUID
    kind: str
    isolation_rank: int
    permille: int
    mib: int
    online: bool = True
    cordoned: bool = False
    closed: tuple[Closed, ...] = ()
    taken: tuple[Taken, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is wanted. None is "any"; `isolation_rank` is the weakest mode that will do."""

    permille: int
    mib: int
    starts: int
    ends: int = FOREVER
    whole: bool = False
    kind: str | None = None
    device_id: UUID | None = None
    isolation_rank: int | None = None


@dataclass(frozen=True, slots=True)
class Fleet:
    """Every card, ordered by device id so that ties fall the same way on every machine."""

    cards: tuple[Card, ...]

    @classmethod
    def of(cls, cards: Iterable[Card]) -> Fleet:
        return cls(tuple(sorted(cards, key=lambda card: card.device_id)))


class Peak(NamedTuple):
    permille: int
    mib: int


def sort_key(taken: Taken) -> tuple[int, int, UUID]:
    return (taken.starts, taken.ends, taken.lease_id)


def peak(taken: Iterable[Taken], starts: int, ends: int) -> Peak:
    """The highest sums inside [starts, ends). At equal instants ends come before starts: back-to-back fits."""
    edges: list[tuple[int, int, int, int]] = []
    for piece in taken:
        if piece.starts < ends and starts < piece.ends:
            edges.append((max(piece.starts, starts), 1, piece.permille, piece.mib))
            edges.append((piece.ends, 0, -piece.permille, -piece.mib))
    edges.sort()
    permille = mib = top_permille = top_mib = 0
    for _, _, more_permille, more_mib in edges:
        permille += more_permille
        mib += more_mib
        top_permille = max(top_permille, permille)
        top_mib = max(top_mib, mib)
    return Peak(top_permille, top_mib)
