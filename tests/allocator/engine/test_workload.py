"""The synthetic workload has the published counts, and the bench's desk keeps its books by the real engine."""

from __future__ import annotations

from itertools import islice

import numpy as np

from allocator.engine.draft import Draft
from allocator.engine.fleet import FOREVER
from allocator.engine.make_room import Limit
from tests.bench import desk
from tests.bench.bench_place import size_of, unallocated
from tests.bench.desk import Desk
from tests.bench.workload import make_asks, make_fleet


def test_the_fleet_has_the_published_counts() -> None:
    fleet = make_fleet(1)
    assert (len(fleet.machines), len(fleet.cards)) == (1213, 6212)
    assert fleet == make_fleet(1)


def test_shares_are_half_of_the_device_asks_and_whole_ones_stay() -> None:
    shares = [size_of(ask) for ask in islice(make_asks(1), 5_000)]
    whole = [size_of(ask) for ask in islice(make_asks(1, whole_only=True), 5_000)]
    assert all(size in (0, 1000) or size % 1000 == 0 for size in whole)
    assert sum(shares) < sum(whole)


def test_the_default_policy_leaves_less_than_the_simple_ones() -> None:
    fleet = make_fleet(1, share=0.02)
    left = {make.__name__: unallocated(fleet, make, 1)[1] for make in (desk.learned, desk.binpack, desk.spread)}
    assert left["learned"] < left["binpack"] < left["spread"]


def test_a_desk_that_moves_and_releases_has_right_books() -> None:
    asks = list(islice(make_asks(2), 420))
    one = Desk(make_fleet(2, share=0.02), asks, desk.learned, limit=Limit(moves=8))
    on: list[int] = []
    moves = 0
    for number, ask in enumerate(asks):
        placed = one.place(ask, number)
        if placed is not None:
            on.append(number)
            moves += len(placed[1])
        if number > 180 and number % 2:
            one.release(on.pop(number % len(on)))
    assert moves > 0
    rebuilt = Draft.of(one.draft.fleet()).view(0, FOREVER)
    assert np.array_equal(rebuilt.permille, one.view.permille)
    assert np.array_equal(rebuilt.cores, one.view.cores)
    assert (one.view.permille >= 0).all()
