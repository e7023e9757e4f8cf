"""Past requests replayed on a fleet under a policy: what would have been placed, refused, waited for and wasted.

Event by event, with the draft and the ranker that place real requests; nothing here is random and nothing reads a
clock. The fleet starts empty; ends come before arrivals at the same instant. A request that finds no place waits in a
queue if it may (higher rank first, then by arrival; one that does not fit holds up only those like it) and gives up
when its patience is over. What is measured is measured from the first arrival to the end that is given.
"""

from __future__ import annotations

import bisect
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import numpy as np

from allocator.engine.draft import Draft
from allocator.engine.fleet import FOREVER, Ask, Card, Fleet, Machine
from allocator.engine.make_room import Limit, MoveCost, make_room
from allocator.engine.policies.base import Policy
from allocator.engine.search import Found, Ranker

WHOLE = 1000
# After so many arrivals the caller is asked whether to go on.
ASKED_EVERY = 200
SAMPLES = 500
NOBODY = UUID(int=0)


class Stopped(Exception):
    """The caller said not to go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`ask` without its period. Times in microseconds; `patience` None waits as long as it takes, 0 does not wait."""

    arrives: int
    duration: int
    ask: Ask
    rank: int = 0
    patience: int | None = 0
    owner: UUID = NOBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How the requests are served. `whole_cards`: every slice takes a whole device. `moves`: allowed on a refusal."""

    policy: Policy
    whole_cards: bool = False
    moves: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Shares in permille, times in microseconds.

    `used` is what was asked for and placed, `taken` what that kept from others (more, when slices take whole devices),
    both of the fleet's compute over the time; `stranded` the mean share of the free compute that lies on devices in
    part use. `refused` by reason; `waiting` still were at the end. Waits are of all that were placed, at once or later.
    """

    requests: int
    placed: int
    refused: dict[str, int]
    waiting: int
    wait_p50: int
    wait_p90: int
    used: int
    taken: int
    stranded: int
    moves: int


GoOn = Callable[[int, int], bool]


def replay(fleet: Fleet, requests: Sequence[Request], trial: Trial, *, ends: int, go_on: GoOn | None = None) -> Outcome:
    """`go_on` hears how many of the arrivals are done, now and then; Stopped is raised if it answers False."""
    run = _Run(fleet, trial, ends)
    ordered = sorted(requests, key=lambda one: one.arrives)
    for number, request in enumerate(ordered):
        if request.arrives >= ends:
            break
        if go_on is not None and number % ASKED_EVERY == 0 and not go_on(number, len(ordered)):
            raise Stopped
        run.advance(request.arrives)
        run.arrive(number, request)
        if number % max(1, len(ordered) // SAMPLES) == 0:
            run.sample()
    run.finish()
    return run.outcome(sum(1 for one in ordered if one.arrives < ends), ordered[0].arrives if ordered else ends)


def edited(fleet: Fleet, *, add: Iterable[tuple[Machine, Sequence[Card]]] = (), remove: Iterable[UUID] = ()) -> Fleet:
    """Another fleet: nodes gone by id, nodes more. Everything on it is gone as well."""
    gone = set(remove)
    cards = [replace(card, taken=(), closed=()) for card in fleet.cards if card.node_id not in gone]
    machines = [replace(machine, taken=()) for machine in fleet.machines if machine.node_id not in gone]
    for machine, more in add:
        machines.append(machine)
        cards += more
    return Fleet.of(cards, machines)


@dataclass(slots=True)
class _Waiter:
    """`reason` is why there was no place when it came."""

    number: int
    request: Request
    ask: Ask
    reason: str = ""

    @property
    def order(self) -> tuple[int, int]:
        return (-self.request.rank, self.number)

    @property
    def gives_up(self) -> int:
        return FOREVER if self.request.patience is None else self.request.arrives + self.request.patience


@dataclass(slots=True)
class _Run:
    fleet: Fleet
    trial: Trial
    ends: int
    draft: Draft = field(init=False)
    ranker: Ranker = field(init=False)
    now: int = 0
    placed: int = 0
    moves: int = 0
    used: int = 0
    taken: int = 0
    area_used: int = 0
    area_taken: int = 0
    waits: list[int] = field(default_factory=list)
    stranded: list[int] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    queue: list[_Waiter] = field(default_factory=list)
    running: list[tuple[int, int, int, int]] = field(default_factory=list)
    movable: dict[UUID, MoveCost] = field(default_factory=dict)
    possible: dict[Ask, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        empty = edited(self.fleet)
        self.draft = Draft.of(empty)
        self.ranker = Ranker(self.draft.view(0, FOREVER), self.trial.policy)

    def advance(self, until: int) -> None:
        """Let everything happen that ends by then."""
        while self.running and self.running[0][0] <= until:
            ends, number, asked, took = heapq.heappop(self.running)
            self._pass_to(ends)
            self.draft.remove(UUID(int=number + 1))
            del self.movable[UUID(int=number + 1)]
            self.used, self.taken = self.used - asked, self.taken - took
            if not self.running or self.running[0][0] > ends:
                self._serve_queue()
        self._pass_to(until)
        self._give_up()

    def finish(self) -> None:
        """What ends with the time makes no room in it."""
        self.advance(self.ends - 1)
        self._pass_to(self.ends)

    def arrive(self, number: int, request: Request) -> None:
        ask = self._ask_of(request)
        if not self._is_possible(ask):
            self.refused["impossible"] += 1
            return
        waiter = _Waiter(number, request, ask)
        if not self._place(waiter):
            waiter.reason = self._reason(ask)
            if request.patience == 0:
                self.refused[waiter.reason] += 1
            else:
                bisect.insort(self.queue, waiter, key=lambda one: one.order)

    def sample(self) -> None:
        view = self.ranker.view
        free = np.where(view.open, view.permille, 0)
        total = int(free.sum())
        if total:
            self.stranded.append(1000 * int(free[view.pieces > 0].sum()) // total)

    def outcome(self, requests: int, began: int) -> Outcome:
        capacity = int(self.draft.layout.permille[self.draft.layout.exists].sum()) * max(1, self.ends - began)
        return Outcome(
            requests=requests, placed=self.placed, refused=dict(sorted(self.refused.items())), waiting=len(self.queue),
            wait_p50=quantile(self.waits, 500), wait_p90=quantile(self.waits, 900),
            used=1000 * self.area_used // max(1, capacity), taken=1000 * self.area_taken // max(1, capacity),
            stranded=sum(self.stranded) // max(1, len(self.stranded)), moves=self.moves,
        )  # fmt: skip

    def _pass_to(self, instant: int) -> None:
        end = min(instant, self.ends)
        self.area_used += self.used * max(0, end - self.now)
        self.area_taken += self.taken * max(0, end - self.now)
        self.now = max(self.now, end)

    def _ask_of(self, request: Request) -> Ask:
        """Valid for all time: an end is an event here, not a calendar's."""
        whole = self.trial.whole_cards and request.ask.devices > 0
        return replace(request.ask, starts=0, ends=FOREVER, device_id=None, whole=request.ask.whole or whole)

    def _is_possible(self, ask: Ask) -> bool:
        """Whether it would fit into the empty fleet."""
        known = self.possible.get(ask)
        if known is None:
            layout = self.draft.layout
            serves = layout.may_serve(ask) & self.ranker.view.open
            serves &= (layout.permille >= ask.permille) & (layout.mib >= ask.mib)
            hosts = (layout.cores >= ask.cores_milli) & (layout.host_mib >= ask.host_mib)
            known = self.possible[ask] = bool((hosts & (serves.sum(axis=1) >= ask.devices)).any())
        return known

    def _place(self, waiter: _Waiter) -> bool:
        found = self.ranker.best(waiter.ask) or self._make_room(waiter.ask)
        if found is None:
            return False
        lease_id, ask = UUID(int=waiter.number + 1), waiter.ask
        took = sum(piece.permille for piece in self.draft.take(found.row, found.columns, ask, lease_id=lease_id))
        self.movable[lease_id] = MoveCost(ask=ask, owner=waiter.request.owner, state_mib=ask.mib)
        asked = ask.permille * ask.devices if self.trial.whole_cards and not waiter.request.ask.whole else took
        self.used, self.taken = self.used + asked, self.taken + took
        self.placed += 1
        self.waits.append(self.now - waiter.request.arrives)
        heapq.heappush(self.running, (self.now + max(1, waiter.request.duration), waiter.number, asked, took))
        return True

    def _make_room(self, ask: Ask) -> Found | None:
        if not self.trial.moves or not ask.devices:
            return None
        limit = Limit(moves=self.trial.moves)
        plan = make_room(
            self.draft, ask, policy=self.trial.policy, limit=limit, movable=self.movable, ranker=self.ranker
        )
        if plan is None:
            return None
        for move in plan.moves:
            old, layout = self.draft.pieces_of(move.lease_id), self.draft.layout
            columns = [layout.place_of[device_id][1] for device_id in move.target]
            row = layout.row_of[move.node_id]
            self.draft.take(row, columns, self.movable[move.lease_id].ask, lease_id=move.lease_id)
            self.draft.leave(move.lease_id, old)
        self.moves += len(plan.moves)
        return plan.place

    def _serve_queue(self) -> None:
        self._give_up()
        failed: set[Ask] = set()
        left = []
        for waiter in self.queue:
            if waiter.ask in failed or not self._place(waiter):
                failed.add(waiter.ask)
                left.append(waiter)
        self.queue = left

    def _give_up(self) -> None:
        for waiter in [one for one in self.queue if one.gives_up <= self.now]:
            self.queue.remove(waiter)
            self.refused[waiter.reason] += 1

    def _reason(self, ask: Ask) -> str:
        """Why it does not fit now: `full`, `scattered` (enough in all, no piece is large enough), `host` (the devices
        are there, their hosts are short), `not_together` (enough devices, not on one node)."""
        view, layout = self.ranker.view, self.draft.layout
        fits = view.fits(ask, slice(None))
        if (fits.sum(axis=1) >= ask.devices).any():
            return "host"
        if int(fits.sum()) >= ask.devices:
            return "not_together"
        free = np.where(layout.may_serve(ask) & view.open, view.permille, 0)
        wanted = ask.devices * (WHOLE if ask.whole else ask.permille)
        return "scattered" if int(free.sum()) >= wanted else "full"


def quantile(values: Sequence[int], permille: int) -> int:
    """The smallest value that so many of a thousand do not exceed; 0 of nothing."""
    if not values:
        return 0
    return sorted(values)[max(0, -(-len(values) * permille // 1000) - 1)]
