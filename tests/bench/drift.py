"""The default policy judged on a mix that drifts away from its history, by the external judge's own functions.

`python -m tests.bench.drift JUDGE HISTORY ARRIVALS [SEEDS]`: JUDGE is the name of the judge's package (on the path),
HISTORY and ARRIVALS are traces of it. Three rows: it knows the arrivals' mix, it knows the other and learns, it knows
the other and does not learn.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tests.bench import desk
from tests.bench.referee_adapter import Plugin


class Drifted(Plugin):
    """Is given another history than the judge's."""

    history: Sequence[Any] = ()

    def reset(self, state: Any, history: Sequence[Any], seed: int) -> None:  # noqa: ARG002 - the point of it
        super().reset(state, self.history, seed)


def main(judge: str, history: str, arrivals: str, seeds: str = "47-49") -> None:
    data, run = importlib.import_module(f"{judge}.data"), importlib.import_module(f"{judge}.run")
    nodes = data.load_nodes()
    old, new = data.load_tasks(history, nodes), data.load_tasks(arrivals, nodes)
    first, _, last = seeds.partition("-")
    makes: dict[str, Callable[[], Plugin]] = {
        f"knows {arrivals}": lambda: Plugin(desk.learned),
        f"knew {history}, learns": lambda: Drifted(desk.learned),
        f"knew {history}, does not learn": lambda: Drifted(desk.learned, learns=False),
    }
    Drifted.history = old
    print(f"| arrivals: {arrivals} | 100 % arrived | 130 % |\n|---|---|---|")
    for name, make in makes.items():
        runs = [run.run_inflation(make(), nodes, new, seed) for seed in range(int(first), int(last or first) + 1)]
        found = [sum(one["unalloc"][point] for one in runs) / len(runs) for point in (100, 130)]
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in found) + " |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
