"""How the cards of a node reach each other: NVLink connections and the nearest common point on PCIe."""

from __future__ import annotations

from typing import Any, Literal

import pynvml

from agent.devices.nvml import Nvml, text
from vxpu.wire.node import CardLink, MigState

Path = Literal["board", "switch", "switches", "host_bridge", "numa_node", "system"]
PATHS: dict[int, Path] = {
    pynvml.NVML_TOPOLOGY_INTERNAL: "board", pynvml.NVML_TOPOLOGY_SINGLE: "switch",
    pynvml.NVML_TOPOLOGY_MULTIPLE: "switches", pynvml.NVML_TOPOLOGY_HOSTBRIDGE: "host_bridge",
    pynvml.NVML_TOPOLOGY_NODE: "numa_node", pynvml.NVML_TOPOLOGY_SYSTEM: "system",
}  # fmt: skip
_REMOTE_IS_SWITCH = 2


def links(nvml: Nvml, uuid: str, others: dict[str, str]) -> list[CardLink]:
    """`others`: PCI bus ids by UUID. Sorted by peer. Raises CardGone."""
    ends = nvml.ask(uuid, _link_ends)
    found = []
    for peer, bus_id in sorted(others.items()):
        level = nvml.ask(uuid, lambda card, peer=peer: pynvml.nvmlDeviceGetTopologyCommonAncestor(card, _other(peer)))  # type: ignore[misc]
        found.append(CardLink(
            peer=peer, nvlinks=None if ends is None else _count(nvml, uuid, peer, bus_id, ends),
            pcie=None if level is None else PATHS.get(level),
        ))  # fmt: skip
    return found


def mig_state(nvml: Nvml, uuid: str) -> MigState | None:
    """None: the card cannot be cut. Raises CardGone."""
    modes = nvml.ask(uuid, pynvml.nvmlDeviceGetMigMode)
    return None if modes is None else MigState(enabled=bool(modes[0]), pending=bool(modes[1]))


def _count(nvml: Nvml, uuid: str, peer: str, bus_id: str, ends: list[str]) -> int:
    direct = ends.count(bus_id)
    if direct or "switch" not in ends:
        return direct
    index = 2  # NVLink; pynvml's own name for index 0 is a tuple, so none of them is used
    status = nvml.ask(uuid, lambda card: pynvml.nvmlDeviceGetP2PStatus(card, _other(peer), index))
    return ends.count("switch") if status == pynvml.NVML_P2P_STATUS_OK else 0


def _link_ends(card: Any) -> list[str]:
    """Where each active link of a card ends: a bus id, or "switch". Raises NVMLError for a card without NVLink."""
    found = []
    for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
        try:
            if not pynvml.nvmlDeviceGetNvLinkState(card, link):
                continue
            if pynvml.nvmlDeviceGetNvLinkRemoteDeviceType(card, link) == _REMOTE_IS_SWITCH:
                found.append("switch")
            else:
                found.append(text(pynvml.nvmlDeviceGetNvLinkRemotePciInfo(card, link).busId).lower())
        except pynvml.NVMLError as error:
            if link == 0 and error.value == pynvml.NVML_ERROR_NOT_SUPPORTED:
                return []  # no NVLink at all
            if error.value not in {pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_INVALID_ARGUMENT}:
                raise
    return found


def _other(uuid: str) -> Any:
    return pynvml.nvmlDeviceGetHandleByUUID(uuid)
