"""Nodes whose cards are cut by their hardware."""

from __future__ import annotations

from typing import Any

from tests.allocator.factories import Node
from vxpu.ids import new_uuid
from vxpu.states import DeviceKind, Isolation
from vxpu.wire.node import CardReport, MigState

CARD_MIB = 80_000


def card_report(*, cut: bool = True) -> CardReport:
    """What its agent says of a card beyond what every device has."""
    return CardReport(
        uuid=f"GPU-{new_uuid()}", pci_bus_id="0000:01:00.0", driver_version="570.0", cuda_version="12.8", links=[],
        mig=MigState(enabled=cut, pending=cut),
    )  # fmt: skip


def card_device(**over: Any) -> dict[str, Any]:
    """Of an A100 of which all is for sale."""
    return {
        "kind": DeviceKind.NVIDIA, "model": "NVIDIA A100-SXM4-80GB", "vendor": "NVIDIA", "memory_mib": CARD_MIB,
        "capacity_mib": CARD_MIB, "capacity_permille": 1000, "isolation": Isolation.MIG, **over,
    }  # fmt: skip


def cut_node(*, devices: int = 1, cut: bool = True, **over: Any) -> Node:
    """A node of such cards, cut unless the story says otherwise."""
    return Node(devices=devices, card=card_report(cut=cut), **card_device(**over))
