"""Planners of consolidation against each other: `python -m tests.bench.bench_defrag [--quick]` (quick: a tenth).

A synthetic fleet (`workload`), filled to a part of its compute by the default policy and churned, then one plan of at
most N moves by each planner: nodes and devices left empty, by how many moves, in what time. The solver's row wants
OR-tools (`pip install ortools==9.15.6755`), which nothing else here needs.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import time
from uuid import UUID

from allocator.engine.defrag import Planner, greedy, plan_consolidation
from allocator.engine.draft import Draft
from allocator.engine.fleet import FOREVER
from allocator.engine.make_room import Limit, MoveCost
from allocator.engine.policies.fragmentation import Fragmentation
from allocator.engine.search import Ranker
from tests.bench.anneal import anneal
from tests.bench.cpsat import neighbourhood
from tests.bench.workload import make_asks, make_fleet

TURNS = 3


def planners(*, quick: bool) -> dict[str, Planner]:
    found: dict[str, Planner] = {"greedy (in use)": greedy, "annealing": anneal}
    if quick and importlib.util.find_spec("ortools") is not None:
        found["CP-SAT"] = neighbourhood
    return found


def churned(seed: int, share: float, fill: float) -> tuple[Draft, dict[UUID, MoveCost]]:
    """Every lease came and went `TURNS` times over."""
    draft, rng, asks = Draft.of(make_fleet(seed, share=share)), random.Random(seed), make_asks(seed)  # noqa: S311
    ranker = Ranker(draft.view(0, FOREVER), Fragmentation())
    room = int(draft.layout.permille[draft.layout.exists].sum() * fill)
    live: list[UUID] = []
    sizes: dict[UUID, int] = {}
    movable: dict[UUID, MoveCost] = {}
    for number in range(1, int(draft.layout.devices.sum()) * TURNS):
        ask, lease_id = next(asks), UUID(int=number)
        found = ranker.best(ask)
        if found is None:
            continue
        draft.take(found.row, found.columns, ask, lease_id=lease_id)
        live.append(lease_id)
        sizes[lease_id] = ask.permille * ask.devices
        room -= sizes[lease_id]
        if ask.devices == 1:
            movable[lease_id] = MoveCost(ask=ask, owner=UUID(int=number % 9), state_mib=ask.mib)
        while room < 0:
            gone = live.pop(rng.randrange(len(live)))
            draft.remove(gone)
            movable.pop(gone, None)
            room += sizes.pop(gone)
    return draft, movable


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    share = 0.1 if options.quick else 1.0
    print("seed fill moves allowed | planner: nodes emptied, devices emptied, moves made, ms")
    for seed in range(1, options.seeds + 1):
        for fill in (0.5, 0.7):
            draft, movable = churned(seed, share, fill)
            for moves in (16, 64):
                for name, planner in planners(quick=options.quick).items():
                    began = time.perf_counter()
                    plan = plan_consolidation(
                        draft, movable=movable, limit=Limit(moves=moves), rng=random.Random(1), planner=planner  # noqa: S311
                    )  # fmt: skip
                    ms = (time.perf_counter() - began) * 1000
                    nodes = plan.before.nodes_in_use - plan.after.nodes_in_use
                    devices = plan.before.devices_in_use - plan.after.devices_in_use
                    print(f"{seed} {fill} {moves:3} | {name:16} {nodes:4} {devices:4} {len(plan.moves):4} {ms:8.0f}")


if __name__ == "__main__":
    main()
