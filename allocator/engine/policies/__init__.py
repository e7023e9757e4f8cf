"""Small scored policies, one a file. Each maps (card, room, size) to integer terms; the highest sum wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from allocator.engine.fit import Room, Size
from allocator.engine.fleet import Card
from allocator.engine.policies import binpack, spread

Policy = Callable[[Card, Room, Size], dict[str, int]]

POLICIES: Mapping[str, Policy] = {"binpack": binpack.terms, "spread": spread.terms}
