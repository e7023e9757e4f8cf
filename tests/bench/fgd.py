"""The published rule "fragmentation gradient descent" (Weng et al., USENIX ATC 2023), to compare with.

A node's fragment for a usual shape is all its idle capacity if the shape cannot run there, else the idle capacity of
devices with less left than it asks; take the place where the mean over the usual shapes grows least.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from allocator.engine.books import Ints
from allocator.engine.fleet import Ask
from allocator.engine.layout import Flags
from allocator.engine.mix import WHOLE, Mix, Seen, Supply
from allocator.engine.policies.base import Policy
from allocator.engine.view import View

POPULAR = 0.95


class FragmentationGradient:
    name = "fragmentation-gradient"

    def __init__(self, history: Iterable[Seen]) -> None:
        ordered = sorted(history, key=lambda one: -one.weight)
        total = sum(one.weight for one in ordered)
        before = [0.0, *accumulate(one.weight for one in ordered)]
        usual = [one for one, sofar in zip(ordered, before, strict=False) if sofar < POPULAR * total]
        self._devices = np.array([one.shape.devices for one in usual])
        self._share = np.array([one.shape.share for one in usual])
        self._cores = np.array([one.shape.cores_milli for one in usual])
        self._weight = np.array([one.weight for one in usual]) / sum(one.weight for one in usual)

    def terms(self, view: View, ask: Ask, rows: Ints, fits: Flags) -> dict[str, Ints]:
        left, cores = view.spare[rows], view.cores[rows]
        before = self._fragment(left, cores)
        columns = range(left.shape[1]) if ask.devices == 1 else range(1)
        found = np.zeros((len(rows), len(columns)), np.int64)
        for column in columns:
            after = left.copy()
            if ask.devices == 1:
                after[:, column] = np.maximum(0, left[:, column] - (WHOLE if ask.whole else ask.permille))
            elif ask.devices:
                first = fits & (fits.cumsum(axis=1) <= ask.devices)
                after[first] = np.maximum(0, left[first] - ask.permille)
            gain = before - self._fragment(after, cores - ask.cores_milli)
            found[:, column] = (100 / (1 + np.exp(-gain / WHOLE))).astype(np.int64)
        return {"fragment": found}

    def _fragment(self, left: Ints, cores: Ints) -> NDArray[np.float64]:
        """(rows,) permille, the mean over the usual shapes."""
        total = left.sum(axis=1)[:, None]
        enough = left[:, :, None] >= self._share
        small = (left[:, :, None] * ~enough).sum(axis=1)
        runs = (self._devices > 0) & (cores[:, None] >= self._cores) & (enough.sum(axis=1) >= self._devices)
        mean: NDArray[np.float64] = np.where(runs, small, total) @ self._weight
        return mean


def gradient(mix: Mix, _: Supply) -> Policy:
    return FragmentationGradient(mix.seen())
