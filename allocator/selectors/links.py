"""How the devices of a node are linked: what an operator uploaded, else what the agent reads of its cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from allocator.engine.fleet import Link
from allocator.engine.topology import TopologyError, links_of, pair_score, read_topology
from allocator.models import Device, Node


def links_at(node: Node, devices: Sequence[Device]) -> tuple[Link, ...]:
    """Empty: nothing is known. A document that no longer fits the node's devices (one was taken out) is passed over."""
    document = node.topology
    if document is None and node.site is not None:
        document = node.site.topology
    if document is not None:
        names = {node.hostname: [device.key for device in devices]}
        try:
            told = read_topology(_only(document, node.hostname), devices=names)
        except TopologyError:
            return _read_by_the_agent(devices)
        by_key = {device.key: device.pk for device in devices}
        pairs = told.get(node.hostname, {}).items()
        return links_of({(by_key[one], by_key[other]): score for (one, other), score in pairs})
    return _read_by_the_agent(devices)


def _only(document: Mapping[str, Any], hostname: str) -> dict[str, Any]:
    nodes = document.get("nodes", {})
    return {"nodes": {hostname: nodes[hostname]} if hostname in nodes else {}}


def _read_by_the_agent(devices: Sequence[Device]) -> tuple[Link, ...]:
    by_uuid = {str(device.card["uuid"]): device for device in devices if device.card}
    told: dict[tuple[UUID, UUID], int] = {}
    for uuid, device in by_uuid.items():
        for link in (device.card or {}).get("links", []):
            other = by_uuid.get(str(link["peer"]))
            if other is not None and str(link["peer"]) != uuid:
                told[device.pk, other.pk] = pair_score(link["nvlinks"], link["pcie"])
    return links_of(told)
