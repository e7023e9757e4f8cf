"""A scheduler of one process around the engine, for benches and judges: place, move on refusal, release, learn.

Nothing here needs the database or a clock: every lease begins now and ends when it is released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

from allocator.engine.draft import Draft
from allocator.engine.fleet import FOREVER, Ask, Fleet
from allocator.engine.learn import learn
from allocator.engine.make_room import Limit, MoveCost, RoomPlan, make_room
from allocator.engine.mix import Mix, Seen, Shape, Supply, shape_of
from allocator.engine.policies.base import Policy
from allocator.engine.policies.binpack import Binpack, Spread
from allocator.engine.policies.fragmentation import Fragmentation
from allocator.engine.search import Found, Ranker

OWNER = UUID(int=1)
HALF_LIFE = 1_500
RELEARN_EVERY = 250

Make = Callable[[Mix, Supply], Policy]


class Desk:
    """`make` turns what was learned into the policy; `limit` allows moves on refusal; lease ids are whole numbers."""

    def __init__(
        self, fleet: Fleet, history: Iterable[Ask], make: Make, *, learns: bool = True, limit: Limit | None = None
    ) -> None:
        self.draft = Draft.of(fleet)
        self.view = self.draft.view(0, FOREVER)
        self._supply = Supply.of(self.draft.layout)
        self._make, self._learns, self._limit = make, learns, limit
        self._shapes: dict[Ask, None] = {}
        self._mix = Mix(HALF_LIFE)
        self._mix.extend(Seen(self._shape(ask), 1.0) for ask in history)
        self._movable: dict[UUID, MoveCost] = {}
        self._row_of: dict[int, int] = {}
        self._arrivals = 0
        self._learn()

    def find(self, ask: Ask) -> tuple[Found, RoomPlan | None] | None:
        """Where it goes, and what must move for it; nothing is applied."""
        self._arrivals += 1
        if self._learns:
            self._mix.add(self._shape(ask))
            if self._arrivals % RELEARN_EVERY == 0:
                self._learn()
        found = self.ranker.best(ask)
        self.ranker.keep_warm()
        if found is not None:
            return found, None
        if self._limit is None or ask.devices == 0:
            return None
        plan = make_room(
            self.draft, ask, policy=self.ranker.policy, limit=self._limit, movable=self._movable, ranker=self.ranker
        )
        return None if plan is None else (plan.place, plan)

    def place(self, ask: Ask, number: int) -> tuple[Found, list[tuple[int, int, tuple[int, ...]]]] | None:
        """The place, and the moves made first: (lease, row, columns)."""
        found = self.find(ask)
        if found is None:
            return None
        moves = self._move(found[1]) if found[1] is not None else []
        self.take(found[0].row, found[0].columns, ask, number)
        return found[0], moves

    def take(self, row: int, columns: Sequence[int], ask: Ask, number: int) -> None:
        lease_id = UUID(int=number + 1)
        self.draft.take(row, columns, ask, lease_id=lease_id)
        self._movable[lease_id] = MoveCost(ask=ask, owner=OWNER, state_mib=ask.host_mib)
        self._row_of[number] = row

    def release(self, number: int) -> int:
        """The row that it was on."""
        lease_id = UUID(int=number + 1)
        self.draft.remove(lease_id)
        del self._movable[lease_id]
        return self._row_of.pop(number)

    def _move(self, plan: RoomPlan) -> list[tuple[int, int, tuple[int, ...]]]:
        moves = []
        for move in plan.moves:
            number, ask = move.lease_id.int - 1, self._movable[move.lease_id].ask
            places = [self.draft.layout.place_of[device_id] for device_id in move.target]
            row, columns = self.draft.layout.row_of[move.node_id], tuple(column for _, column in places)
            self.release(number)
            self.take(row, columns, ask, number)
            moves.append((number, row, columns))
        return moves

    def _shape(self, ask: Ask) -> Shape:
        self._shapes[ask] = None
        return shape_of(ask, self._supply.device_mib)

    def _learn(self) -> None:
        self.ranker = Ranker(self.view, self._make(self._mix, self._supply))
        self.ranker.warm(self._shapes)


def learned(mix: Mix, supply: Supply) -> Policy:
    return Fragmentation(learn(mix.seen(), supply))


def unlearned(_: Mix, supply: Supply) -> Policy:
    return Fragmentation(learn([], supply))


def binpack(*_: object) -> Policy:
    return Binpack()


def spread(*_: object) -> Policy:
    return Spread()
