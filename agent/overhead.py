"""Memory that a slice takes on a card outside its own count: code, globals, libraries' workspaces. Pure.

overhead = max(0, NVML's bytes of the slice's processes - (used + context) of its slots). It lowers what the slice may
still reserve, so it must not follow every allocation under way: the two figures are read at different moments.
"""

from __future__ import annotations

from dataclasses import dataclass

from vxpu.units import MIB

GRANULE_BYTES = 2 * MIB
RAISE_AFTER = 2


@dataclass(frozen=True, slots=True)
class Overhead:
    """`published_bytes` is what the region says; `risen` the excesses of the looks in a row that were above it."""

    published_bytes: int = 0
    risen: tuple[int, ...] = ()


def next_overhead(known: Overhead, *, on_card_bytes: int, counted_bytes: int) -> Overhead:
    """Lower at once, higher only by what two looks in a row agree on. `counted_bytes` is the guest's word.

    A guest that counts too little raises its own overhead, one that counts too much has less room by that much: either
    way the sum is at least what the card holds for it.
    """
    excess = max(0, on_card_bytes - max(0, counted_bytes))
    excess = -(-excess // GRANULE_BYTES) * GRANULE_BYTES
    if excess <= known.published_bytes:
        return Overhead(excess)
    risen = (*known.risen, excess)
    if len(risen) < RAISE_AFTER:
        return Overhead(known.published_bytes, risen)
    return Overhead(min(risen))
