"""A fleet's life at random; after every step the books are made anew from the calendars and compared."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from uuid import UUID

import numpy as np
import pytest

from allocator.engine.draft import Draft, NotPlaced
from allocator.engine.fleet import FOREVER, Ask, Card, Fleet, Machine, Taken
from allocator.engine.gang import Together, place_gang
from allocator.engine.mig import layout_of
from allocator.engine.policies import POLICIES
from allocator.engine.preempt import Claim, Holder, Rules, find_victims
from allocator.engine.search import Ranker
from tests import soak
from tests.allocator.engine.strategies import SPAN
from tests.allocator.engine.worlds import INSTANTS, is_legal

WINDOWS = [(0, FOREVER), (3, 7)]
RULES = Rules(delay=0, min_run=0, promote_after=99, promote_wait=10**9)


def first_fleet() -> Fleet:
    """Four nodes of three cards; one node's cards are cut by slots, hosts and copy bandwidth run out."""
    cut = layout_of("A100", 80)
    cards = [
        Card(device_id=UUID(int=100 * node + number), node_id=UUID(int=node), kind="g", isolation_rank=0, permille=1000,
             mib=80, model="cut" if node == 4 else "", mig=cut if node == 4 else None)
        for node in range(1, 5) for number in range(3)
    ]  # fmt: skip
    return Fleet.of(cards, [Machine(node_id=UUID(int=node), cores_milli=12, mib=24) for node in range(1, 5)])


@dataclass
class Life:
    """The draft under test, and beside it what should be in it: the ask of every lease."""

    random: random.Random
    draft: Draft = field(default_factory=lambda: Draft.of(first_fleet()))
    asks: dict[UUID, Ask] = field(default_factory=dict)
    made: int = 0
    done: dict[str, int] = field(default_factory=dict)

    def step(self) -> None:
        verbs = {
            self.place: 8, self.release: 4, self.resize: 3, self.move: 3, self.gang: 2, self.fail: 1, self.recover: 1,
            self.pre_empt: 2, self.undo: 2,
        }  # fmt: skip
        verb = self.random.choices(list(verbs), list(verbs.values()))[0]
        if verb() is not False:
            self.done[verb.__name__] = self.done.get(verb.__name__, 0) + 1
        self.check()

    def check(self) -> None:
        fleet = self.draft.fleet()
        assert is_legal(fleet)
        anew = Draft.of(fleet)
        for window in WINDOWS:
            mine, other = self.draft.view(*window), anew.view(*window)
            for name in ("permille", "mib", "copy", "pieces", "wholes", "cores", "host_mib", "free", "spare"):
                assert np.array_equal(getattr(mine, name), getattr(other, name)), name
            assert np.array_equal(mine.busy(slice(None)), other.busy(slice(None)))
        held = {piece.lease_id for card in fleet.cards for piece in card.taken}
        assert held == self.asks.keys()

    def lease(self) -> UUID:
        self.made += 1
        return UUID(int=10_000 + self.made)

    def ask(self) -> Ask:
        pick, starts = self.random.choice, self.random.randrange(SPAN)
        return Ask(
            permille=pick([50, 142, 250, 285, 500, 900]), mib=pick([1, 5, 10, 20, 40]), starts=starts,
            ends=pick([FOREVER, starts + 1, starts + 4]), whole=pick([False] * 6 + [True]), devices=pick([1, 1, 1, 2]),
            copy_permille=pick([0, 0, 300]), cores_milli=pick([0, 1, 3]), host_mib=pick([0, 2]),
        )  # fmt: skip

    def place(self) -> bool:
        ask, lease = self.ask(), self.lease()
        view = self.draft.view(ask.starts, ask.ends)
        found = Ranker(view, POLICIES[self.random.choice(sorted(POLICIES))]).best(ask)
        assert (found is None) == (not (view.refusals(ask) == -1).any())
        if found is None:
            return False
        self.draft.take(found.row, found.columns, ask, lease_id=lease)
        self.asks[lease] = ask
        return True

    def some(self) -> UUID | None:
        return self.random.choice(sorted(self.asks)) if self.asks else None

    def release(self) -> bool:
        lease = self.some()
        if lease is None:
            return False
        assert self.draft.remove(lease)
        assert self.draft.remove(lease) == 0  # idempotent
        del self.asks[lease]
        return True

    def resize(self) -> bool:
        lease = self.some()
        if lease is None or self.asks[lease].devices != 1:
            return False
        ask = replace(self.asks[lease], permille=self.random.choice([50, 285, 500]), mib=self.random.choice([5, 20]))
        (place, *_) = (place for place, piece in self.draft.pieces_of(lease) if isinstance(piece, Taken))
        mark = self.draft.mark()
        self.draft.remove(lease)
        try:
            self.draft.place(place, ask, lease_id=lease)
        except NotPlaced:
            self.draft.rollback(mark)
            return False
        self.asks[lease] = ask
        return True

    def move(self) -> bool:
        """The new place before the old one is left."""
        lease = self.some()
        if lease is None:
            return False
        ask, old = self.asks[lease], self.draft.pieces_of(lease)
        here = {self.draft.layout.place_of[place][0] for place, piece in old if isinstance(piece, Taken)}
        found = Ranker(self.draft.view(ask.starts, ask.ends), POLICIES["spread"]).best(ask, without=sorted(here))
        if found is None:
            return False
        self.draft.take(found.row, found.columns, ask, lease_id=lease)
        assert is_legal(self.draft.fleet())
        self.draft.leave(lease, old)
        return True

    def gang(self) -> bool:
        ask, leases = replace(self.ask(), devices=1), [self.lease() for _ in range(self.random.randint(2, 6))]
        together = self.random.choice(list(Together))
        before = self.draft.mark()
        try:
            place_gang(self.draft, [ask] * len(leases), together=together, policy=POLICIES["binpack"], lease_ids=leases)
        except NotPlaced:
            assert self.draft.mark() == before
            return False
        self.asks |= dict.fromkeys(leases, ask)
        return True

    def fail(self) -> bool:
        """A node goes: its leases are placed anew where they fit, and are lost where not."""
        return self._serve(online=False)

    def recover(self) -> bool:
        return self._serve(online=True)

    def _serve(self, *, online: bool) -> bool:
        fleet, node = self.draft.fleet(), self.random.choice(self.draft.layout.machines).node_id
        cards = [replace(card, online=online) if card.node_id == node else card for card in fleet.cards]
        moved = {piece.lease_id for card in cards if not card.online for piece in card.taken}
        self.draft = Draft.of(Fleet.of(cards, fleet.machines))
        for lease in sorted(moved):
            ask = self.asks[lease]
            self.draft.remove(lease)
            found = Ranker(self.draft.view(ask.starts, ask.ends), POLICIES["fragmentation"]).best(ask)
            if found is None:
                del self.asks[lease]
            else:
                self.draft.take(found.row, found.columns, ask, lease_id=lease)
        return True

    def pre_empt(self) -> bool:
        ask, lease = replace(self.ask(), devices=1), self.lease()
        holders = [
            Holder(lease_id=one, owner=one, rank=one.int % 3, permille=held.permille, started_at=0, safe_at=0)
            for one, held in sorted(self.asks.items())
        ]
        claim = Claim(owner=lease, rank=2, waiting_since=0, ask=ask)
        found = find_victims(self.draft.fleet(), claim, holders, now=max(INSTANTS), rules=RULES)
        if found is None:
            return False
        for victim in found.victims:
            assert self.draft.remove(victim)
            del self.asks[victim]
        self.draft.place(found.device_ids[0], ask, lease_id=lease)
        self.asks[lease] = ask
        return True

    def undo(self) -> bool:
        """Whatever was done after the mark is undone, to the last piece."""
        before, mark, kept = self.draft.fleet(), self.draft.mark(), dict(self.asks)
        for verb in self.random.choices([self.place, self.release, self.resize, self.move, self.gang], k=3):
            verb()
        self.draft.rollback(mark)
        self.asks = kept
        assert self.draft.fleet() == before
        return True


def live(seed: int, steps: int) -> Life:
    life = Life(random.Random(seed))  # noqa: S311 - the same life for the same seed
    for _ in range(steps):
        life.step()
    return life


def test_a_life_at_random_keeps_its_books() -> None:
    life = live(1, 200)
    assert len(life.done) == 9, life.done
    again = live(1, 200)
    assert again.draft.fleet() == life.draft.fleet()


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_many_lives(say_figures: soak.SayFigures) -> None:
    lives = [live(seed, 1_000) for seed in range(2, 2 + soak.scaled(20))]
    say_figures(
        steps=1_000 * len(lives), **{verb: sum(life.done.get(verb, 0) for life in lives) for verb in lives[0].done}
    )
