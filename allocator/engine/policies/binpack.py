"""Fullest first, so that whole cards stay free: 0.7 of the weight on compute, 0.3 on memory."""

from __future__ import annotations

import numpy as np

from allocator.engine.books import Ints
from allocator.engine.fleet import Ask
from allocator.engine.view import Flags, View

COMPUTE_WEIGHT = 700
MEMORY_WEIGHT = 300


class Binpack:
    """0..1000: the share of the device (of the node, for several devices) that is in use once the ask is placed."""

    name = "binpack"

    def terms(self, view: View, ask: Ask, rows: Ints, fits: Flags) -> dict[str, Ints]:
        free_compute, free_memory = free_after(view, ask, rows, fits)
        return {"compute_used": COMPUTE_WEIGHT - free_compute, "memory_used": MEMORY_WEIGHT - free_memory}


class Spread:
    """0..1000: the share that is still free, so that neighbours disturb each other least; the same weights."""

    name = "spread"

    def terms(self, view: View, ask: Ask, rows: Ints, fits: Flags) -> dict[str, Ints]:
        free_compute, free_memory = free_after(view, ask, rows, fits)
        return {"compute_free": free_compute, "memory_free": free_memory}


def free_after(view: View, ask: Ask, rows: Ints, fits: Flags) -> tuple[Ints, Ints]:  # noqa: ARG001 - of every device
    """What is left once the ask is placed, of compute (of 700) and of memory (of 300)."""
    permille, mib = view.layout.permille[rows], view.layout.mib[rows]
    if ask.devices != 1:
        whole = ask.devices
        left = (view.permille[rows] * view.layout.exists[rows]).sum(axis=1, keepdims=True)
        memory = (view.mib[rows] * view.layout.exists[rows]).sum(axis=1, keepdims=True)
        permille, mib = permille.sum(axis=1, keepdims=True), mib.sum(axis=1, keepdims=True)
        return (
            COMPUTE_WEIGHT * (left - whole * ask.permille) // np.maximum(permille, 1),
            MEMORY_WEIGHT * (memory - whole * ask.mib) // np.maximum(mib, 1),
        )
    taken_permille, taken_mib = (permille, mib) if ask.whole else (ask.permille, ask.mib)
    return (
        COMPUTE_WEIGHT * (view.permille[rows] - taken_permille) // np.maximum(permille, 1),
        MEMORY_WEIGHT * (view.mib[rows] - taken_mib) // np.maximum(mib, 1),
    )
