"""What the engine finds with arrays, found card by card: slow, and plain enough to be held against it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

from allocator.engine.fit import Size, node_refusal, refusal
from allocator.engine.fleet import FOREVER, Ask, Card, Fleet, Machine
from allocator.engine.later import NEAREST, Later, free_of, likeness, node_next_free, smaller, soonness


def nodes_of(fleet: Fleet) -> Iterator[tuple[Machine, list[Card]]]:
    """Each node with its cards, by ids."""
    cards: dict[UUID, list[Card]] = defaultdict(list)
    for card in fleet.cards:
        cards[card.node_id].append(card)
    for machine in fleet.machines:
        yield machine, cards[machine.node_id]


def constraint_counts(fleet: Fleet, ask: Ask) -> dict[str, int]:
    """How many devices each constraint ruled out, by name in order. What `view.View.counts` says.

    `not_together`: they would do, but their node has too few of them. An ask of no device counts nodes.
    """
    counted: Counter[str] = Counter()
    for machine, cards in nodes_of(fleet):
        found = [refusal(card, ask, machine) for card in cards] if ask.devices else [node_refusal(machine, ask)]
        fitting = found.count(None)
        counted.update(name for name in found if name is not None)
        if 0 < fitting < ask.devices:
            counted["not_together"] += fitting
    return dict(sorted(counted.items()))


def earliest(fleet: Fleet, ask: Ask) -> Later | None:
    """The soonest start over the fleet; ties go to the first card. For several devices the first of those together."""
    best: Later | None = None
    for machine, cards in nodes_of(fleet):
        found = node_next_free(machine, cards, ask, FOREVER if best is None else best.starts)
        if found is not None and (best is None or soonness(found) < soonness(best)):
            best = found
    return best


def largest_free(fleet: Fleet, ask: Ask) -> Size | None:
    """The largest piece that one card of the ask's sort has free over its period: compute first, then memory."""
    small = replace(ask, permille=1, mib=1, whole=False, devices=1)
    found: list[Size] = []
    for machine, cards in nodes_of(fleet):
        found += [Size(*free_of(card, ask)) for card in cards if refusal(card, small, machine) is None]
    return max(found, default=None)


def nearest_sizes(fleet: Fleet, ask: Ask) -> list[tuple[Size, Card]]:
    """Up to three smaller sizes that fit for the wished period, the nearest first; none for several devices.

    Of each card the wish cut to what is left, and the wish shrunk with its proportion kept.
    """
    if not ask.is_possible or ask.devices != 1 or ask.mib == 0:
        return []
    found: dict[Size, Card] = {}
    small = replace(ask, permille=1, mib=1, whole=False)
    for machine, cards in nodes_of(fleet):
        for card in cards:
            if refusal(card, small, machine) is None:
                for size in smaller(free_of(card, ask), ask):
                    found.setdefault(size, card)
    order = sorted(found, key=lambda size: (-likeness(size, ask), -size.permille, -size.mib, found[size].device_id))
    return [(size, found[size]) for size in order[:NEAREST]]
