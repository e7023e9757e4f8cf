"""A place for everything that was lost at once: one picture of the fleet, one search, the hardest first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from allocator.engine.draft import Draft
from allocator.engine.fit import Size, asked_size
from allocator.engine.fleet import FOREVER, Ask, Fleet
from allocator.engine.mig import Slots
from allocator.engine.policies.base import Policy
from allocator.engine.search import Ranker

_HOUR = 3_600_000_000
# Asks end at different instants; a window a class of ends, so that the views are few. A piece that fits over the longer
# window fits over its own.
_HORIZONS = (_HOUR, 6 * _HOUR, 24 * _HOUR, 7 * 24 * _HOUR)
# Windows that are tried exactly for those who found nothing: each costs a look at the whole fleet.
EXACT = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What was lost: `key` is whose; `parts` are the ask and the policy for each pool that may take it, in order."""

    key: UUID
    parts: tuple[tuple[Ask, Policy], ...]

    @property
    def ask(self) -> Ask:
        return self.parts[0][0]


class Spot(NamedTuple):
    """Where it goes, and what it takes there. `standby`: on a node that stood by."""

    device_id: UUID
    node_id: UUID
    score: int
    size: Size
    slots: Slots | None
    standby: bool


class _Given(NamedTuple):
    """What is settled before the search: see `place_all`."""

    kept: Mapping[UUID, Spot]
    leaving: Collection[UUID]
    standby: bool


def place_all(
    draft: Draft,
    needs: Iterable[Need],
    *,
    kept: Mapping[UUID, Spot] = MappingProxyType({}),
    leaving: Collection[UUID] = (),
) -> dict[UUID, Spot]:
    """A spot for each key that has one; all of them together fit, and the draft has them. Deterministic.

    Whole devices come before slices, larger slices before smaller ones, and among equals who stands first in `needs`.
    What stands by is filled before anything else. Who has a spot in `kept` keeps it; no other is on a node of
    `leaving`.
    """
    waiting = in_order([need for need in needs if need.parts], draft)
    found: dict[UUID, Spot] = {}
    reserve = _standing_by(draft)
    if reserve.cards and waiting:
        found = _fill(Draft.of(reserve), waiting, _Given(kept, leaving, standby=True))
        waiting = [need for need in waiting if need.key not in found]
    return found | _fill(draft, waiting, _Given(kept, leaving, standby=False))


def in_order(needs: Sequence[Need], draft: Draft) -> list[Need]:
    """The hardest to place first. A size counts by the larger of its two parts of the fleet's largest device."""
    most = int(draft.layout.mib.max(initial=1))
    return sorted(needs, key=lambda need: (not need.ask.whole, -max(need.ask.permille * most, need.ask.mib * 1000)))


def _standing_by(draft: Draft) -> Fleet:
    """The reserve, open to all."""
    ids = [card.device_id for row in draft.layout.cards for card in row if card.standby]
    cards = [replace(draft.card(device_id), standby=False) for device_id in ids]
    return Fleet.of(cards, [draft.machine(node_id) for node_id in {card.node_id for card in cards}])


def _fill(draft: Draft, needs: Sequence[Need], given: _Given) -> dict[UUID, Spot]:
    found = _take_kept(draft, needs, given)
    search = _Search(draft, given)
    left = []
    for need in needs:
        if need.key in found:
            continue
        spot = search.take(need, window_of(need.ask))
        if spot is None:
            left.append(need)
        else:
            found[need.key] = spot
    exact: set[tuple[int, int]] = set()
    for need in left:
        window = (need.ask.starts, need.ask.ends)
        exact.add(window)
        if len(exact) > EXACT:
            break
        spot = search.take(need, window)
        if spot is not None:
            found[need.key] = spot
    return found


def _take_kept(draft: Draft, needs: Iterable[Need], given: _Given) -> dict[UUID, Spot]:
    """Before anything is looked for. One whose device is not there any more has no spot."""
    found = {}
    for need in needs:
        spot = given.kept.get(need.key)
        if spot is not None and spot.standby == given.standby and spot.device_id in draft.layout.place_of:
            draft.keep(spot.device_id, need.ask, spot.slots, lease_id=need.key)
            found[need.key] = spot
    return found


def window_of(ask: Ask) -> tuple[int, int]:
    """The ask's own start, and the first horizon after it that covers its end."""
    ends = next((ask.starts + horizon for horizon in _HORIZONS if ask.ends <= ask.starts + horizon), FOREVER)
    return ask.starts, ends


class _Search:
    """One draft with a ranker for each window and policy."""

    def __init__(self, draft: Draft, given: _Given) -> None:
        self._draft = draft
        self._standby = given.standby
        rows = draft.layout.row_of
        self._without = [rows[node_id] for node_id in given.leaving if node_id in rows]
        self._rankers: dict[tuple[int, int, int], Ranker] = {}

    def take(self, need: Need, window: tuple[int, int]) -> Spot | None:
        return next((spot for part in need.parts if (spot := self._take(need.key, *part, window))), None)

    def _take(self, key: UUID, ask: Ask, policy: Policy, window: tuple[int, int]) -> Spot | None:
        view = self._draft.view(*window)
        by = (*window, id(policy))
        ranker = self._rankers.get(by)
        if ranker is None:
            ranker = self._rankers[by] = Ranker(view, policy)
        found = ranker.best(ask, without=self._without)
        if found is None:
            return None
        row, (column,) = found.row, found.columns
        card = self._draft.layout.cards[row][column]
        (taken,) = self._draft.take(row, (column,), ask, lease_id=key)
        return Spot(card.device_id, card.node_id, found.score, asked_size(card, ask), taken.slots, self._standby)
