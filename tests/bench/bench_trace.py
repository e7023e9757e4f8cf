"""Whole cards against slices on a public trace: `python -m tests.bench.bench_trace NODES.csv TASKS.csv [--load 0.9]`.

Both files in the format of the Alibaba cluster-trace-gpu-v2023 (github.com/alibaba/clusterdata): nodes as `sn`,
`cpu_milli`, `memory_mib`, `gpu`, `model`; tasks as `cpu_milli`, `memory_mib`, `num_gpu`, `gpu_milli`, `gpu_spec`, whose
models are joined by `|`. Tasks are drawn at random as often as the load wants, live two hours in the mean, and wait
until they fit. Used is what they really ask for, in percent of the devices; with whole cards a share keeps its device
from everybody else.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from uuid import UUID

import numpy as np

from allocator.engine.fleet import Ask, Card, Fleet, Machine
from tests.bench.bench_place import Streams, queued, table

DEVICE_MIB = 16_384


def read_fleet(path: Path, *, share: float, seed: int) -> Fleet:
    """A random `share` of the nodes."""
    with path.open(newline="") as rows:
        nodes = list(csv.DictReader(rows))
    kept = np.random.default_rng(seed).permutation(len(nodes))[: max(1, round(share * len(nodes)))]
    machines, cards = [], []
    for number in sorted(kept.tolist()):
        row, node_id = nodes[number], UUID(int=number + 1)
        machines.append(Machine(node_id=node_id, cores_milli=int(row["cpu_milli"]), mib=int(row["memory_mib"])))
        cards += [
            Card(
                device_id=UUID(int=((number + 1) << 64) + column), node_id=node_id, kind="cuda", isolation_rank=1,
                permille=1000, mib=DEVICE_MIB, model=row["model"],
            )
            for column in range(int(row["gpu"]))
        ]  # fmt: skip
    return Fleet.of(cards, machines)


def read_asks(path: Path) -> list[Ask]:
    """A share of a device wants the same part of its memory."""
    with path.open(newline="") as rows:
        return [_ask(row) for row in csv.DictReader(rows)]


def _ask(row: dict[str, str]) -> Ask:
    devices = int(row["num_gpu"])
    permille = int(row["gpu_milli"]) if devices else 0
    models = frozenset(row["gpu_spec"].split("|")) if devices and row["gpu_spec"] else None
    return Ask(
        permille=permille, mib=DEVICE_MIB * permille // 1000, starts=0, devices=devices, models=models,
        cores_milli=int(row["cpu_milli"]), host_mib=int(row["memory_mib"]),
    )  # fmt: skip


def draw(asks: Sequence[Ask], seed: int, *, whole_only: bool = False) -> Iterator[Ask]:
    """Endless; the same for both kinds."""
    if whole_only:
        asks = [replace(ask, permille=1000, mib=DEVICE_MIB) if ask.devices else ask for ask in asks]
    rng = np.random.default_rng(seed)
    while True:
        for number in rng.integers(len(asks), size=1024).tolist():
            yield asks[number]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", type=Path)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--load", type=float, nargs="+", default=[0.3, 0.6, 0.9], help="of the devices, as wanted")
    parser.add_argument("--share", type=float, default=0.1, help="of the nodes, drawn at random")
    parser.add_argument("--days", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(f"load before: {os.getloadavg()[0]:.1f}")
    fleet, asks = read_fleet(given.nodes, share=given.share, seed=given.seed), read_asks(given.tasks)
    streams = Streams(history=asks, draw=partial(draw, asks))
    for load in given.load:
        kinds = {
            name: partial(queued, fleet, given.seed, load=load, days=given.days, whole_only=whole, streams=streams)
            for name, whole in (("whole cards", True), ("slices", False))
        }
        title = f"{given.tasks.stem}: {load:.0%} wanted, {len(fleet.machines)} nodes, {given.days} days"
        table(title, "% used | % placed | mean wait min", kinds)


if __name__ == "__main__":
    main()
