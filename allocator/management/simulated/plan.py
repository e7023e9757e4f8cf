"""What a simulated fleet is made of: the same for the same seed and size."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum

from vxpu.slices import Slice
from vxpu.states import DeviceKind

DEVICES_A_NODE = 8
NODES_A_RACK = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Power in watts, idle and at full use. A model without `has_sensors` shows neither heat nor power."""

    name: str
    kind: DeviceKind
    memory_mib: int
    compute_units: int
    idle_w: int
    full_w: int
    has_sensors: bool = True


# No CPU among them: the machine that runs this sells its own, and nobody shall get a simulated one for it.
MODELS = (
    Model(
        name="Simulated H200 141 GB", kind=DeviceKind.NVIDIA, memory_mib=143_771, compute_units=132, idle_w=75,
        full_w=700,
    ),
    Model(
        name="Simulated A100 80 GB", kind=DeviceKind.NVIDIA, memory_mib=81_920, compute_units=108, idle_w=50, full_w=400
    ),
    Model(
        name="Simulated L40S 48 GB", kind=DeviceKind.NVIDIA, memory_mib=49_152, compute_units=142, idle_w=35, full_w=350
    ),
    Model(
        name="Simulated MI300X 192 GB", kind=DeviceKind.OPENCL, memory_mib=196_608, compute_units=304, idle_w=140,
        full_w=750,
    ),
    Model(
        name="Simulated NPU 64 GB", kind=DeviceKind.OPENCL, memory_mib=65_536, compute_units=32, idle_w=0, full_w=0,
        has_sensors=False,
    ),
)  # fmt: skip
MODEL_WEIGHTS = (4, 3, 3, 2, 1)

# (memory, compute) of each slice of a device, in permille of it.
LAYOUTS: tuple[tuple[tuple[int, int], ...], ...] = (
    (),
    ((1000, 1000),),
    ((500, 500), (500, 500)),
    ((500, 500), (250, 250), (125, 125)),
    ((250, 250),) * 4,
    ((250, 250),) * 3,
    ((125, 125),) * 8,
    ((125, 125),) * 5,
    ((600, 250), (250, 500)),
    ((700, 300),),
    ((200, 600), (200, 200), (100, 100)),
    ((500, 250),),
)
LAYOUT_WEIGHTS = (10, 12, 10, 12, 12, 8, 8, 6, 8, 5, 5, 4)


class Trait(StrEnum):
    """What is the matter with a device or a node."""

    SOUND = "sound"
    HOT = "hot"
    FAULTY = "faulty"


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePlan:
    slices: tuple[Slice, ...]
    trait: Trait


IDLE = DevicePlan(slices=(), trait=Trait.SOUND)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlan:
    """`falls_silent`: it is heard once and never again. `drains`: it is taken out of service."""

    number: int
    rack: str
    hostname: str
    model: Model
    devices: tuple[DevicePlan, ...]
    falls_silent: bool
    drains: bool


def make_plan(*, devices: int, dice: random.Random, idle: bool = False) -> list[NodePlan]:
    """Nodes of eight devices, racks of eight nodes; a few are hot, faulty or silent, and the last rack drains.

    An `idle` fleet is sound, in service, and nobody's: all of it can be bought.
    """
    nodes = -(-devices // DEVICES_A_NODE)
    racks = -(-nodes // NODES_A_RACK)
    plans = []
    for number in range(nodes):
        rack, place = divmod(number, NODES_A_RACK)
        model = dice.choices(MODELS, MODEL_WEIGHTS)[0]
        count = min(DEVICES_A_NODE, devices - number * DEVICES_A_NODE)
        plans.append(
            NodePlan(
                number=number,
                rack=f"R{rack + 1:02d}",
                hostname=f"simulated-r{rack + 1:02d}-n{place + 1}",
                model=model,
                devices=tuple(IDLE if idle else _device(model, dice) for _ in range(count)),
                falls_silent=number % 48 == 29 and not idle,
                drains=racks > 1 and rack == racks - 1 and not idle,
            )
        )
    return plans


def _device(model: Model, dice: random.Random) -> DevicePlan:
    layout = dice.choices(LAYOUTS, LAYOUT_WEIGHTS)[0]
    traits = dice.choices(tuple(Trait), (94, 4, 2))[0] if model.has_sensors else Trait.SOUND
    sizes = tuple(Slice(memory_mib=model.memory_mib * memory // 1000, share_permille=share) for memory, share in layout)
    return DevicePlan(slices=sizes, trait=traits)
