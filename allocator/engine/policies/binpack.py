"""Fullest first, so that whole cards stay free: 0.7 of the weight on compute, 0.3 on memory."""

from __future__ import annotations

from allocator.engine.fit import Room, Size
from allocator.engine.fleet import Card

COMPUTE_WEIGHT = 700
MEMORY_WEIGHT = 300


def terms(card: Card, left: Room, size: Size) -> dict[str, int]:
    """0..1000: the share of the card that is in use once the slice is placed."""
    used_permille = card.permille - left.permille + size.permille
    used_mib = card.mib - left.mib + size.mib
    return {
        "compute_used": COMPUTE_WEIGHT * used_permille // card.permille,
        "memory_used": MEMORY_WEIGHT * used_mib // card.mib,
    }
