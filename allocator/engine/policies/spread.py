"""Emptiest first, so that neighbours disturb each other least: the same weights as binpack."""

from __future__ import annotations

from allocator.engine.fit import Room, Size
from allocator.engine.fleet import Card
from allocator.engine.policies.binpack import COMPUTE_WEIGHT, MEMORY_WEIGHT


def terms(card: Card, left: Room, size: Size) -> dict[str, int]:
    """0..1000: the share of the card that is still free once the slice is placed."""
    return {
        "compute_free": COMPUTE_WEIGHT * (left.permille - size.permille) // card.permille,
        "memory_free": MEMORY_WEIGHT * (left.mib - size.mib) // card.mib,
    }
