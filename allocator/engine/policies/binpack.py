"""Fullest first, so that whole cards stay free: 0.7 of the weight on compute, 0.3 on memory."""

from __future__ import annotations

import numpy as np

from allocator.engine.books import Ints
from allocator.engine.fleet import Ask
from allocator.engine.layout import Flags
from allocator.engine.view import View

COMPUTE_WEIGHT = 700
MEMORY_WEIGHT = 300


class Binpack:
    """0..1000: the share of the device (of the node, for several devices) that is in use once the ask is placed."""

    name = "binpack"

    def terms(self, view: View, ask: Ask, rows: Ints, fits: Flags) -> dict[str, Ints]:  # noqa: ARG002 - of every device
        free_compute, free_memory = free_after(view, ask, rows)
        return {"compute_used": COMPUTE_WEIGHT - free_compute, "memory_used": MEMORY_WEIGHT - free_memory}


class Spread:
    """0..1000: the share that is still free, so that neighbours disturb each other least; the same weights."""

    name = "spread"

    def terms(self, view: View, ask: Ask, rows: Ints, fits: Flags) -> dict[str, Ints]:  # noqa: ARG002 - of every device
        free_compute, free_memory = free_after(view, ask, rows)
        return {"compute_free": free_compute, "memory_free": free_memory}


def free_after(view: View, ask: Ask, rows: Ints) -> tuple[Ints, Ints]:
    """What is left once the ask is placed, of compute (of 700) and of memory (of 300): of the device, or of the node
    for several devices."""
    permille, mib = view.layout.permille[rows], view.layout.mib[rows]
    left, memory = view.permille[rows], view.mib[rows]
    taken_permille, taken_mib = view.takes(ask, rows)
    if ask.devices != 1:
        exists = view.layout.exists[rows]
        left, memory = ((one * exists).sum(axis=1, keepdims=True) for one in (left, memory))
        taken_permille, taken_mib = (
            ask.devices * np.broadcast_to(one, exists.shape).max(axis=1, keepdims=True, initial=0)
            for one in (taken_permille, taken_mib)
        )
        permille, mib = permille.sum(axis=1, keepdims=True), mib.sum(axis=1, keepdims=True)
    return (
        COMPUTE_WEIGHT * (left - taken_permille) // np.maximum(permille, 1),
        MEMORY_WEIGHT * (memory - taken_mib) // np.maximum(mib, 1),
    )
