"""Several asks, all or none.

The members go in hardest first, each to the policy's best place; when one does not fit, the ones before it are moved to
their next best places, within a bounded number of looks. Equal members never need that: what one of them takes of a
place, any other would, so the first that does not fit is the proof that they do not fit together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

import numpy as np

from allocator.engine.books import Ints
from allocator.engine.draft import Draft, NotPlaced
from allocator.engine.fleet import Ask, Machine
from allocator.engine.mig import Slots
from allocator.engine.policies.base import Policy
from allocator.engine.search import Found, Ranker
from allocator.engine.view import View

# How many places of unequal members are tried, in all, before the answer is no.
LOOKS = 2_000
WIDTH = 16


class Together(StrEnum):
    """How near. All but ANY also mean that each member has a device of its own."""

    NODE = "node"
    RACK = "rack"
    SITE = "site"
    DEVICES = "devices"
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Where one ask of the gang went. `index` is its place among the asks."""

    index: int
    lease_id: UUID
    device_id: UUID
    row: int
    column: int
    score: int
    slots: Slots | None


def place_gang(
    draft: Draft,
    asks: Sequence[Ask],
    *,
    together: Together,
    policy: Policy,
    lease_ids: Sequence[UUID],
    beside: Collection[UUID] = (),
) -> list[Member]:
    """The members in the order of their device ids, as they are to be booked; the draft has them.

    `beside`: devices of members that have their places: the new ones are as near to these as to each other.

    Each ask is of one device. Raises NotPlaced with counts, and leaves the draft as it was: the constraint that most
    devices fail when the hardest ask fits nowhere, `not_together` when each fits but they do not.
    """
    if any(ask.devices != 1 or not ask.is_possible for ask in asks):
        raise NotPlaced("impossible_shape", {"impossible_shape": int(draft.layout.is_card.sum())})
    members = _Gang(draft, asks, together, policy, lease_ids, beside).place()
    return sorted(members, key=lambda member: (member.device_id, member.index))


class _Gang:
    def __init__(
        self,
        draft: Draft,
        asks: Sequence[Ask],
        together: Together,
        policy: Policy,
        lease_ids: Sequence[UUID],
        beside: Collection[UUID],
    ) -> None:
        self._draft, self._asks, self._together = draft, asks, together
        self._lease_ids = dict(enumerate(lease_ids))
        self._views = {(ask.starts, ask.ends): draft.view(ask.starts, ask.ends) for ask in asks}
        self._rankers = {window: Ranker(view, policy) for window, view in self._views.items()}
        self._order = sorted(range(len(asks)), key=lambda index: (*_ease(asks[index]), index))
        self._is_equal = len(set(asks)) <= 1
        places = draft.layout.place_of
        self._beside = [places[device_id] for device_id in beside if device_id in places]
        self._hidden: list[tuple[int, int]] = []
        self._looks = LOOKS

    def place(self) -> list[Member]:
        mark = self._draft.mark()
        try:
            for place in self._beside:
                self._hide(place)
            hidden = len(self._hidden)
            for rows in self._groups():
                members = self._fill(rows)
                if members is not None:
                    return members
                self._undo(mark, hidden)
        finally:
            self._undo(self._draft.mark(), 0)
        raise self._refused()

    def _groups(self) -> Iterator[Ints | None]:
        """Rows among which all members have to be; of those with enough devices, the smallest rest first."""
        if self._together in (Together.DEVICES, Together.ANY) or not self._asks:
            yield None
            return
        if self._together is Together.NODE and self._is_equal:
            yield from self._best_node()
            return
        fits = np.zeros_like(self._draft.layout.exists)
        for ask in set(self._asks):
            takes, devices = self._view(ask).rows_that_fit(ask, slice(None))
            fits |= devices & takes[:, None]
        free = fits.sum(axis=1)
        groups = [np.array(rows) for rows in _near(self._draft.layout.machines, self._together)]
        groups = [rows for rows in groups if free[rows].sum() >= len(self._asks) and self._is_near(rows)]
        yield from sorted(groups, key=lambda rows: (int(free[rows].sum()), int(rows[0])))

    def _best_node(self) -> Iterator[Ints]:
        """Equal members on one node are one ask of several devices: the policy knows the best node for that."""
        rows = {row for row, _ in self._beside}
        within = np.array(sorted(rows)) if rows else None
        found = None if len(rows) > 1 else self._ranker(self._asks[0]).best(self._as_one(), within=within)
        if found is not None:
            yield np.array([found.row])

    def _is_near(self, rows: Ints) -> bool:
        """To every member that has its place."""
        return {row for row, _ in self._beside} <= set(rows.tolist())

    def _as_one(self) -> Ask:
        ask, count = self._asks[0], len(self._asks)
        return replace(ask, devices=count, cores_milli=count * ask.cores_milli, host_mib=count * ask.host_mib)

    def _fill(self, rows: Ints | None) -> list[Member] | None:
        """All members among these rows; None, with some of them placed, when they do not fit."""
        if self._together is Together.NODE and self._is_equal and rows is not None:
            columns = self._ranker(self._asks[0]).pick(self._as_one(), int(rows[0]))
            ones = zip(self._order, columns, strict=True)
            return [self._take(index, Found(int(rows[0]), (column,), 0)) for index, column in ones]
        mark = self._draft.mark()
        members = []
        for index in self._order:
            found = self._ranker(self._asks[index]).best(self._asks[index], within=rows)
            if found is None:
                break
            members.append(self._take(index, found))
        else:
            return members
        self._undo(mark, 0)
        return None if self._is_equal else self._search(0, rows)

    def _search(self, depth: int, rows: Ints | None) -> list[Member] | None:
        """Depth first over the next best places."""
        if depth == len(self._order):
            return []
        index = self._order[depth]
        mark, hidden = self._draft.mark(), len(self._hidden)
        for found in self._ranker(self._asks[index]).rank(self._asks[index], limit=WIDTH, within=rows):
            if self._looks <= 0:
                return None
            self._looks -= 1
            member = self._take(index, found)
            rest = self._search(depth + 1, rows)
            if rest is not None:
                return [member, *rest]
            self._undo(mark, hidden)
        return None

    def _take(self, index: int, found: Found) -> Member:
        ask, lease_id = self._asks[index], self._lease_ids[index]
        taken = self._draft.take(found.row, found.columns, ask, lease_id=lease_id)[0]
        column = found.columns[0]
        self._hide((found.row, column))
        return Member(
            index=index, lease_id=lease_id, device_id=self._draft.layout.device_ids[found.row][column],
            row=found.row, column=column, score=found.score, slots=taken.slots,
        )  # fmt: skip

    def _hide(self, place: tuple[int, int]) -> None:
        """A device of its own for each."""
        if self._together is not Together.ANY:
            self._hidden.append(place)
            for view in self._views.values():
                view.hide(*place)

    def _undo(self, mark: int, hidden: int) -> None:
        self._draft.rollback(mark)
        while len(self._hidden) > hidden:
            place = self._hidden.pop()
            for view in self._views.values():
                view.show(*place)

    def _refused(self) -> NotPlaced:
        """The counts of the hardest ask that fits nowhere alone; else what fits alone is `not_together`."""
        for index in self._order:
            codes = self._view(self._asks[index]).refusals(self._asks[index])
            if not (codes == -1).any():
                counts = self._view(self._asks[index]).counts(self._asks[index])
                return NotPlaced(max(counts, key=lambda name: counts[name], default="not_together"), counts)
        ask = self._asks[self._order[0]]
        fits = int((self._view(ask).refusals(ask) == -1).sum())
        return NotPlaced("not_together", self._view(ask).counts(ask) | {"not_together": fits})

    def _view(self, ask: Ask) -> View:
        return self._views[ask.starts, ask.ends]

    def _ranker(self, ask: Ask) -> Ranker:
        return self._rankers[ask.starts, ask.ends]


def _ease(ask: Ask) -> tuple[bool, bool, bool, int, int, int, int]:
    """Ascending: the hardest first."""
    return (
        ask.device_id is None, ask.models is None, not ask.whole, -ask.permille, -ask.mib, -ask.cores_milli,
        -ask.host_mib,
    )  # fmt: skip


def _near(machines: Sequence[Machine], together: Together) -> list[list[int]]:
    """Rows by node, rack or site. A node that does not say where it stands is near to nobody."""
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row, machine in enumerate(machines):
        alone = (str(machine.node_id),)
        named = {
            Together.RACK: (machine.site, machine.rack) if machine.rack else alone,
            Together.SITE: (machine.site,) if machine.site else alone,
        }
        groups[named.get(together, alone)].append(row)
    return list(groups.values())
