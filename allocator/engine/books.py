"""Pieces of capacity in columns: what is taken where, when, and the peak of it over a window.

A *place* is a whole number (a device or a node of a `Layout`); a piece takes a vector of resources at its place over
[starts, ends). The peaks of all places come from one pass over the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_NOWHERE = -1
_FIRST = 64


class Books:
    """`resources` amounts a piece; all integers. Slots are reused."""

    def __init__(self, places: int, resources: int) -> None:
        self._where = np.full(_FIRST, _NOWHERE, np.int64)
        self._starts = np.zeros(_FIRST, np.int64)
        self._ends = np.zeros(_FIRST, np.int64)
        self._amounts = np.zeros((resources, _FIRST), np.int64)
        self._free = list(range(_FIRST - 1, -1, -1))
        self._at: list[set[int]] = [set() for _ in range(places)]

    @property
    def places(self) -> int:
        return len(self._at)

    def add(self, place: int, starts: int, ends: int, amounts: Sequence[int]) -> int:
        """The slot of the new piece."""
        if not self._free:
            self._grow()
        slot = self._free.pop()
        self._where[slot] = place
        self._starts[slot] = starts
        self._ends[slot] = ends
        self._amounts[:, slot] = amounts
        self._at[place].add(slot)
        return slot

    def drop(self, slot: int) -> None:
        place = int(self._where[slot])
        self._where[slot] = _NOWHERE
        self._at[place].discard(slot)
        self._free.append(slot)

    def slots_at(self, place: int) -> Iterable[int]:
        return sorted(self._at[place])

    def peaks(self, starts: int, ends: int) -> Ints:
        """(resources, places): the highest sums inside [starts, ends), each resource for itself.

        What has begun by the window's start counts from there. Only where something begins later can the peak be
        higher; those places are swept. At equal instants ends come before starts: back-to-back fits.
        """
        inside = (self._where != _NOWHERE) & (self._starts < ends) & (self._ends > starts)
        begun = np.flatnonzero(inside & (self._starts <= starts))
        found = np.zeros((len(self._amounts), self.places), np.int64)
        where = self._where[begun]
        for resource, amounts in enumerate(self._amounts):
            # Exact: a float of 53 bits holds every sum of capacities.
            found[resource] = np.bincount(where, weights=amounts[begun], minlength=self.places)
        later = np.zeros(self.places, np.bool_)
        later[self._where[inside & (self._starts > starts)]] = True
        if later.any():
            slots = np.flatnonzero(inside)
            self._sweep(found, slots[later[self._where[slots]]], starts)
        return found

    def _sweep(self, found: Ints, slots: Ints, starts: int) -> None:
        """Peaks of every place that the slots are at, in one pass: each place's events add up to nothing in the end."""
        where = np.concatenate([self._where[slots], self._where[slots]])
        instants = np.concatenate([np.maximum(self._starts[slots], starts), self._ends[slots]])
        is_start = np.concatenate([np.ones(len(slots), np.int64), np.zeros(len(slots), np.int64)])
        order = np.lexsort((is_start, instants, where))
        amounts = self._amounts[:, slots]
        running = np.cumsum(np.concatenate([amounts, -amounts], axis=1)[:, order], axis=1)
        places, firsts = np.unique(where[order], return_index=True)
        found[:, places] = np.maximum.reduceat(running, firsts, axis=1)

    def down_to(self, most: Ints, at: int) -> Ints:
        """(places,): from when on no more than `most` (a row for each of the first resources, a column a place) is
        taken by what has begun by `at`. `at` where it is so already, the last end of all (FOREVER) where never."""
        slots = np.flatnonzero((self._where != _NOWHERE) & (self._starts <= at) & (self._ends > at))
        slots = slots[np.lexsort((-self._ends[slots], self._where[slots]))]
        where, amounts = self._where[slots], self._amounts[: len(most), slots]
        running = np.cumsum(amounts, axis=1)
        firsts = np.searchsorted(where, where)
        staying = running - running[:, firsts] + amounts[:, firsts]  # with all of its place that end no sooner
        over = (staying > most[:, where]).any(axis=0)
        found = np.full(self.places, at, np.int64)
        np.maximum.at(found, where[over], self._ends[slots][over])
        return found

    def peak_at(self, place: int, starts: int, ends: int) -> Ints:
        """(resources,) of one place."""
        slots = np.fromiter(self._at[place], np.int64, len(self._at[place]))
        slots = slots[(self._starts[slots] < ends) & (self._ends[slots] > starts)]
        begins, amounts = self._starts[slots], self._amounts[:, slots]
        if not (begins > starts).any():  # then nothing begins later, and it is the sum
            at_once: Ints = amounts.sum(axis=1)
            return at_once
        begins = np.maximum(begins, starts)
        instants = np.concatenate([begins, self._ends[slots]])
        is_start = np.concatenate([np.ones(len(slots), np.int64), np.zeros(len(slots), np.int64)])
        order = np.lexsort((is_start, instants))
        running = np.cumsum(np.concatenate([amounts, -amounts], axis=1)[:, order], axis=1)
        top: Ints = running.max(axis=1, initial=0)
        return top

    def _grow(self) -> None:
        old = len(self._where)
        self._where = np.concatenate([self._where, np.full(old, _NOWHERE, np.int64)])
        self._starts = np.concatenate([self._starts, np.zeros(old, np.int64)])
        self._ends = np.concatenate([self._ends, np.zeros(old, np.int64)])
        self._amounts = np.concatenate([self._amounts, np.zeros((len(self._amounts), old), np.int64)], axis=1)
        self._free.extend(range(2 * old - 1, old - 1, -1))
