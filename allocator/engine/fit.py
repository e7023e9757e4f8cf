"""Does it fit; if not, which constraint says so, when would it, and what size would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from allocator.engine.fleet import FOREVER, Ask, Card, Fleet, peak

# A card that fails one of these never takes this ask, whatever the time or the load.
STATIC = frozenset({"other_device", "other_kind", "isolation", "larger_than_device"})
NEAREST = 3


class Room(NamedTuple):
    """What is left of a card over the whole of a period."""

    permille: int
    mib: int


class Size(NamedTuple):
    permille: int
    mib: int


class Later(NamedTuple):
    starts: int
    card: Card


def room(card: Card, starts: int, ends: int) -> Room:
    top = peak(card.taken, starts, ends)
    return Room(card.permille - top.permille, card.mib - top.mib)


def asked_size(card: Card, ask: Ask) -> Size:
    """A whole-device ask takes all of the card."""
    return Size(card.permille, card.mib) if ask.whole else Size(ask.permille, ask.mib)


def _static_refusal(card: Card, ask: Ask) -> str | None:
    if ask.device_id is not None and card.device_id != ask.device_id:
        return "other_device"
    if ask.kind is not None and card.kind != ask.kind:
        return "other_kind"
    if ask.isolation_rank is not None and card.isolation_rank > ask.isolation_rank:
        return "isolation"
    if ask.permille > card.permille or ask.mib > card.mib:
        return "larger_than_device"
    return None


def _load_refusal(card: Card, ask: Ask, starts: int, ends: int) -> str | None:
    overlapping = [piece for piece in card.taken if piece.starts < ends and starts < piece.ends]
    if ask.whole and overlapping:
        return "in_use"
    if any(piece.whole for piece in overlapping):
        return "taken_whole"
    top = peak(overlapping, starts, ends)
    size = asked_size(card, ask)
    no_compute = top.permille + size.permille > card.permille
    no_memory = top.mib + size.mib > card.mib
    if no_compute and no_memory:
        return "memory_and_compute"
    return "compute" if no_compute else "memory" if no_memory else None


def _service_refusal(card: Card, starts: int, ends: int) -> str | None:
    if not card.online:
        return "offline"
    if any(closed.starts < ends and starts < closed.ends for closed in card.closed):
        return "maintenance"
    return "cordoned" if card.cordoned else None


def refusal(card: Card, ask: Ask) -> str | None:
    """The first constraint that the card fails, by name; None if the ask fits."""
    static = _static_refusal(card, ask) or _service_refusal(card, ask.starts, ask.ends)
    return static or _load_refusal(card, ask, ask.starts, ask.ends)


def change_refusal(card: Card, ask: Ask, *, longer_from: int | None = None) -> str | None:
    """For a lease that is on the card and left out of it: a cordon lets it be, and only what is longer than before
    (from `longer_from` on) must keep clear of maintenance."""
    if longer_from is not None and any(one.starts < ask.ends and longer_from < one.ends for one in card.closed):
        return "maintenance"
    return _load_refusal(card, ask, ask.starts, ask.ends)


def constraint_counts(fleet: Fleet, ask: Ask) -> dict[str, int]:
    """How many devices each constraint ruled out, by name in order."""
    counted = Counter(name for card in fleet.cards if (name := refusal(card, ask)) is not None)
    return dict(sorted(counted.items()))


def is_sellable(card: Card, ask: Ask) -> bool:
    """Whether the card may take such an ask at some time: it is heard, not cordoned, and of the right sort."""
    return card.online and not card.cordoned and _static_refusal(card, ask) is None


def next_free(card: Card, ask: Ask) -> int | None:
    """The earliest start, not before the wished one, at which the card takes the ask for as long; None for never.

    The room over a sliding window changes only where something ends, so these are the only starts to try.
    """
    if not is_sellable(card, ask):
        return None
    ends = [piece.ends for piece in card.taken] + [closed.ends for closed in card.closed]
    for start in sorted({ask.starts, *(end for end in ends if ask.starts < end < FOREVER)}):
        end = FOREVER if ask.ends == FOREVER else start + ask.ends - ask.starts
        if _service_refusal(card, start, end) is None and _load_refusal(card, ask, start, end) is None:
            return start
    return None


def earliest(fleet: Fleet, ask: Ask) -> Later | None:
    """The soonest start over the fleet; ties go to the first card."""
    best: Later | None = None
    for card in fleet.cards:
        start = next_free(card, ask)
        if start is not None and (best is None or start < best.starts):
            best = Later(start, card)
    return best


def largest_free(fleet: Fleet, ask: Ask) -> Size | None:
    """The largest piece that one card of the ask's sort has free over its period: compute first, then memory."""
    found: list[Size] = []
    for card in fleet.cards:
        small = replace(ask, permille=1, mib=1, whole=False)
        if refusal(card, small) is None:
            left = room(card, ask.starts, ask.ends)
            found.append(Size(left.permille, left.mib))
    return max(found, default=None)


def nearest_sizes(fleet: Fleet, ask: Ask) -> list[tuple[Size, Card]]:
    """Up to three smaller sizes that fit for the wished period, the nearest first.

    Of each card the wish cut to what is left, and the wish shrunk with its proportion kept.
    """
    found: dict[Size, Card] = {}
    for card in fleet.cards:
        for size in _smaller(card, ask):
            found.setdefault(size, card)
    order = sorted(found, key=lambda size: (-_likeness(size, ask), -size.permille, -size.mib))
    return [(size, found[size]) for size in order[:NEAREST]]


def _smaller(card: Card, ask: Ask) -> Iterable[Size]:
    if _service_refusal(card, ask.starts, ask.ends) or _static_refusal(card, ask) not in (None, "larger_than_device"):
        return
    if any(piece.whole and piece.starts < ask.ends and ask.starts < piece.ends for piece in card.taken):
        return
    left = room(card, ask.starts, ask.ends)
    if left.permille < 1 or left.mib < 1:
        return
    yield Size(min(ask.permille, left.permille), min(ask.mib, left.mib))
    if left.permille * ask.mib <= left.mib * ask.permille:
        scaled = Size(min(ask.permille, left.permille), min(ask.mib, ask.mib * left.permille // ask.permille))
    else:
        scaled = Size(min(ask.permille, ask.permille * left.mib // ask.mib), min(ask.mib, left.mib))
    if scaled.permille >= 1 and scaled.mib >= 1:
        yield scaled


def _likeness(size: Size, ask: Ask) -> int:
    """The smaller of the two ratios to the wish, in permille."""
    return min(size.permille * 1000 // ask.permille, size.mib * 1000 // ask.mib)
