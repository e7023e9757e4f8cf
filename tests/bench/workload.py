"""A synthetic fleet and stream of asks with the counts of a published trace of a large GPU cluster, drawn from a seed.

Nodes and shapes by count, as published for "Beware of Fragmentation" (Weng et al., USENIX ATC 2023): 1,213 nodes with
6,212 devices, and the shapes that cover 95 % of its tasks. Times, users and the rare shapes are not in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

import numpy as np

from allocator.engine.fleet import Ask, Card, Fleet, Machine

DEVICE_MIB = 16_384
GIB = 1024


class NodeShape(NamedTuple):
    nodes: int
    model: str
    devices: int
    cores: int
    gib: int


NODES = [
    NodeShape(549, "G2", 8, 96, 384), NodeShape(387, "T4", 2, 104, 512), NodeShape(107, "P100", 2, 16, 120),
    NodeShape(39, "G3", 8, 128, 768), NodeShape(28, "V100M16", 4, 32, 128), NodeShape(22, "P100", 2, 64, 256),
    NodeShape(21, "V100M32", 8, 96, 768), NodeShape(19, "V100M16", 1, 8, 32), NodeShape(17, "T4", 4, 96, 384),
    NodeShape(9, "V100M32", 4, 48, 368), NodeShape(8, "V100M16", 8, 64, 256), NodeShape(3, "P100", 1, 8, 60),
    NodeShape(2, "P100", 2, 8, 60),
    NodeShape(2, "A10", 1, 128, 1024),
]  # fmt: skip

# (count, devices, permille of each, thousandths of a core).
SHAPES = [
    (1047, 1, 810, 3152), (874, 1, 1000, 11300), (599, 1, 1000, 11400), (470, 1, 1000, 3152), (388, 1, 470, 11908),
    (366, 0, 0, 12500), (360, 1, 470, 8000), (326, 1, 1000, 12000), (290, 0, 0, 32000), (255, 1, 1000, 18708),
    (237, 1, 650, 11908), (232, 1, 320, 4000), (195, 1, 1000, 9810), (185, 0, 0, 8000), (164, 1, 1000, 8000),
    (159, 1, 1000, 4000), (158, 1, 1000, 15700), (153, 1, 1000, 11908), (150, 1, 1000, 16000), (122, 1, 230, 4000),
    (120, 1, 460, 6000), (120, 0, 0, 15400), (95, 0, 0, 16500), (93, 1, 1000, 14200), (84, 1, 1000, 24200),
    (75, 1, 590, 3152), (72, 1, 320, 8000), (72, 1, 550, 4152), (55, 1, 1000, 11900), (54, 1, 160, 4000),
    (45, 1, 370, 4152), (43, 1, 220, 4000), (41, 1, 1000, 8200), (24, 1, 110, 4000), (16, 2, 1000, 16200),
    (15, 4, 1000, 32200), (22, 8, 1000, 88000), (22, 8, 1000, 64200),
]  # fmt: skip


def make_fleet(seed: int, scale: int = 1, share: float = 1.0) -> Fleet:
    """Nodes in a random but fixed order of ids; `share` of each shape (a smaller fleet with the same mix)."""
    shapes = [shape for shape in NODES for _ in range(max(1, round(shape.nodes * scale * share)))]
    machines: list[Machine] = []
    cards: list[Card] = []
    for number, at in enumerate(np.random.default_rng(seed).permutation(len(shapes)).tolist(), 1):
        shape = shapes[at]
        node_id = UUID(int=number << 64)
        machines.append(Machine(node_id=node_id, cores_milli=shape.cores * 1000, mib=shape.gib * GIB))
        cards += [
            Card(
                device_id=UUID(int=(number << 64) + column + 1), node_id=node_id, kind="cuda", isolation_rank=1,
                permille=1000, mib=DEVICE_MIB, model=shape.model,
            )
            for column in range(shape.devices)
        ]  # fmt: skip
    return Fleet.of(cards, machines)


def make_asks(seed: int, *, whole_only: bool = False) -> Iterator[Ask]:
    """Endless. A share wants the same part of the memory; with `whole_only` every share is rounded up to a device."""
    rng = np.random.default_rng(seed)
    asks = [_ask(devices, permille, cores, whole_only=whole_only) for _, devices, permille, cores in SHAPES]
    weights = np.array([shape[0] for shape in SHAPES], np.float64)
    while True:
        for kind in rng.choice(len(asks), 1024, p=weights / weights.sum()).tolist():
            yield asks[kind]


def _ask(devices: int, permille: int, cores_milli: int, *, whole_only: bool) -> Ask:
    size = 1000 if whole_only and devices else permille
    return Ask(
        permille=size, mib=DEVICE_MIB * size // 1000 if devices else 0, starts=0, devices=devices,
        cores_milli=cores_milli, host_mib=cores_milli * 4 * GIB // 1000,
    )  # fmt: skip
