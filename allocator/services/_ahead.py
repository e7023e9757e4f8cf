"""Places that were looked for before they are needed: for what runs on nodes that have been silent for long.

One a process, and only a hint, as the picture is: what is recalled has not been touched since, and `book_all` decides.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from allocator.engine.fail_over import Spot
from allocator.services._picture import changed_since
from vxpu.market import Wish

# How long before the verdict the search begins: each of two workers has a look of its own in that time.
AHEAD = timedelta(seconds=6)
# A search that is older is not recalled; the notes of changes are kept for longer.
KEPT_S = 20


@dataclass(frozen=True, slots=True)
class _Found:
    wish: Wish
    spot: Spot


class Ahead:
    """Spots by owner, and the snapshot in which all of them were free together."""

    def __init__(self) -> None:
        self._found: dict[UUID, _Found] = {}
        self._snapshot = ""
        self._at = 0.0

    def keep(self, wishes: Mapping[UUID, Wish], spots: Mapping[UUID, Spot], *, snapshot: str) -> None:
        """In place of what was kept. `snapshot` is the picture's."""
        self._found = {owner: _Found(wishes[owner], spot) for owner, spot in spots.items()}
        self._snapshot, self._at = snapshot, time.monotonic()

    def recall(self, wishes: Mapping[UUID, Wish]) -> dict[UUID, Spot]:
        """For those who wish what they wished then, or the rest of it, the spots that nobody has touched since."""
        if time.monotonic() - self._at > KEPT_S:
            self._found = {}
        asked = {owner: self._found[owner] for owner in wishes if owner in self._found}
        if not asked:
            return {}
        changed = changed_since(self._snapshot)
        if changed is None:
            return {}
        return {
            owner: found.spot for owner, found in asked.items()
            if found.spot.device_id not in changed.devices and found.spot.node_id not in changed.nodes
            and _is_rest(wishes[owner], found.wish)
        }  # fmt: skip


def _is_rest(wish: Wish, before: Wish) -> bool:
    begun = wish.period.starts_at >= before.period.starts_at and wish.period.ends_at == before.period.ends_at
    return begun and replace(before, period=wish.period) == wish


AHEAD_OF_VERDICT = Ahead()
