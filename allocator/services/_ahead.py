"""Places that were looked for before they are needed: for what runs on nodes that have been silent for long.

One a process, and only a hint, as the picture is: what is given out has not been touched since, and `book_all` decides.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from allocator.services._picture import changed_since
from vxpu.market import Claim, Wish

# How long before the verdict the search begins: there are three looks of the watch in that time, by whatever worker.
AHEAD = timedelta(seconds=6)
# A search that is older is not remembered; the notes of changes are kept for longer.
KEPT_S = 20


@dataclass(frozen=True, slots=True)
class Prepared:
    """A claim, the lease that it would make, and both as `allocator_book_lost` reads them."""

    claim: Claim
    lease_id: UUID
    asked: str


class Ahead:
    """By owner, and the snapshot in which all the places were free together."""

    def __init__(self) -> None:
        self._found: dict[UUID, Prepared] = {}
        self._given: dict[UUID, Prepared] = {}
        self._snapshot = ""
        self._at = 0.0

    def keep(self, found: Iterable[Prepared], *, snapshot: str) -> None:
        """In place of what was kept. `snapshot` is the picture's."""
        self._found = {one.claim.owner: one for one in found}
        self._given = {}
        self._snapshot, self._at = snapshot, time.monotonic()

    def still_good(self, wishes: Mapping[UUID, Wish]) -> list[Prepared]:
        """For those who wish what they wished then, or the rest of it."""
        found = self._untouched(wishes)
        return [one for one in found if _is_rest(wishes[one.claim.owner], one.claim.wish)]

    def give_out(self, owners: Iterable[UUID]) -> list[Claim]:
        """Each once: who is refused looks anew. The caller knows that they wish what they wished then."""
        found = self._untouched(owners)
        for one in found:
            del self._found[one.claim.owner]
        self._given = {one.claim.owner: one for one in found}
        return [one.claim for one in found]

    def prepared(self, claim: Claim) -> Prepared | None:
        """If the claim is one that was given out last."""
        given = self._given.get(claim.owner)
        return given if given is not None and given.claim is claim else None

    def _untouched(self, owners: Iterable[UUID]) -> list[Prepared]:
        if time.monotonic() - self._at > KEPT_S:
            self._found = {}
        asked = [self._found[owner] for owner in owners if owner in self._found]
        changed = changed_since(self._snapshot) if asked else None
        if changed is None:
            return []
        return [
            one for one in asked
            if one.claim.place.device_id not in changed.devices and one.claim.place.node_id not in changed.nodes
        ]  # fmt: skip


def _is_rest(wish: Wish, before: Wish) -> bool:
    begun = wish.period.starts_at >= before.period.starts_at and wish.period.ends_at == before.period.ends_at
    return begun and replace(before, period=wish.period) == wish


AHEAD_OF_VERDICT = Ahead()
