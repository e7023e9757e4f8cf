"""When one node would take an ask, and the smaller sizes that one card would: what `ways` asks of a few."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from allocator.engine import fit
from allocator.engine.fit import Room, Size, host_refusal, moment_refusal
from allocator.engine.fleet import FOREVER, Ask, Card, Machine
from allocator.engine.mig import choose

NEAREST = 3


class Later(NamedTuple):
    starts: int
    card: Card


def is_sellable(card: Card, ask: Ask, machine: Machine | None = None) -> bool:
    """Whether the card may take such an ask at some time: it serves, and it and its host, empty, are large enough."""
    if not card.online or card.cordoned or card.unhealthy or fit.static_refusal(card, ask, machine) is not None:
        return False
    return machine is None or (ask.cores_milli <= machine.cores_milli and ask.host_mib <= machine.mib)


def next_free(card: Card, ask: Ask, machine: Machine | None = None) -> int | None:
    """The earliest start, not before the wished one, at which the card (and its host) takes one device of the ask for
    as long; None for never."""
    later = node_next_free(machine, [card], replace(ask, devices=1), FOREVER)
    return None if later is None else later.starts


def soonness(later: Later) -> tuple[int, UUID]:
    return later.starts, later.card.device_id


def node_next_free(machine: Machine | None, cards: Sequence[Card], ask: Ask, latest: int) -> Later | None:
    """The room over a sliding window changes only where something ends, so these are the only starts to try; none
    after `latest`."""
    wanted = [card for card in cards if is_sellable(card, ask, machine)]
    if len(wanted) < max(ask.devices, 1):
        return None
    ends = {piece.ends for card in wanted for piece in card.taken}
    ends |= {closed.ends for card in wanted for closed in card.closed}
    ends |= set() if machine is None else {piece.ends for piece in machine.taken}
    for start in sorted({ask.starts, *(end for end in ends if ask.starts < end < FOREVER and end <= latest)}):
        later = replace(ask, starts=start, ends=FOREVER if ask.ends == FOREVER else start + ask.ends - ask.starts)
        if machine is not None and host_refusal(machine, later, later.starts, later.ends):
            continue
        fitting = [card for card in wanted if moment_refusal(card, later) is None]
        if len(fitting) >= max(ask.devices, 1):
            return Later(start, fitting[0])
    return None


def free_of(card: Card, ask: Ask) -> Room:
    """Of a card that takes the smallest piece: what is left; of one that is cut, the largest profile that fits."""
    left = fit.room(card, ask.starts, ask.ends)
    if card.mig is None:
        return left
    layout = card.mig
    busy = fit.busy_slots(piece for piece in card.taken if piece.starts < ask.ends and ask.starts < piece.ends)
    within = [one for one in layout.profiles if one.permille <= left.permille and one.mib <= left.mib]
    open_ones = [one for one in within if choose(layout, one, busy) is not None]
    largest = max(open_ones, key=lambda one: (one.permille, one.mib))
    return Room(largest.permille, largest.mib)


def smaller(left: Room, ask: Ask) -> Iterable[Size]:
    yield Size(min(ask.permille, left.permille), min(ask.mib, left.mib))
    if left.permille * ask.mib <= left.mib * ask.permille:
        scaled = Size(min(ask.permille, left.permille), min(ask.mib, ask.mib * left.permille // ask.permille))
    else:
        scaled = Size(min(ask.permille, ask.permille * left.mib // ask.mib), min(ask.mib, left.mib))
    if scaled.permille >= 1 and scaled.mib >= 1:
        yield scaled


def likeness(size: Size, ask: Ask) -> int:
    """The smaller of the two ratios to the wish, in permille."""
    return min(size.permille * 1000 // ask.permille, size.mib * 1000 // ask.mib)
