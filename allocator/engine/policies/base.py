"""What a placement policy is: named integer terms for every place at once; the highest sum wins."""

from __future__ import annotations

from typing import Protocol

from allocator.engine.books import Ints
from allocator.engine.fleet import Ask
from allocator.engine.layout import Flags
from allocator.engine.view import View


class Policy(Protocol):
    """Small, scored, without state that a placement changes: what it has learned is given when it is made."""

    @property
    def name(self) -> str: ...

    def terms(self, view: View, ask: Ask, rows: Ints, fits: Flags) -> dict[str, Ints]:
        """By name, each of the shape (len(rows), columns) for an ask of one device, else (len(rows), 1).

        `fits` (len(rows), columns) are the devices that take a piece of the ask; what stands elsewhere is not read.
        The terms depend on nothing but the ask without its period, the rows as they are in the view, and what was
        learned: rankers keep them until a row changes.

        A policy may also have `pick(view, ask, row) -> columns`: which devices of a node, for several. Without it they
        are the fullest ones (`View.pick`).
        """
        ...
