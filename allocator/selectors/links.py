"""How the devices of a node are linked: what an operator uploaded, else what the agent reads of its cards."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from allocator.engine.fleet import Link
from allocator.engine.topology import TopologyError, links_of, pair_score, read_topology
from allocator.models import Device, Node


def links_at(node: Node, devices: Sequence[Device]) -> tuple[Link, ...]:
    """Empty: nothing is known. A document that no longer fits the node's devices (one was taken out) is passed over, as
    is one that does not name the node."""
    for document in (node.topology, None if node.site is None else node.site.topology):
        entry = (document or {}).get("nodes", {}).get(node.hostname)
        if entry is None:
            continue
        keys = {device.key: device.pk for device in devices}
        try:
            told = read_topology({"nodes": {node.hostname: entry}}, devices={node.hostname: list(keys)})
        except TopologyError:
            continue
        return links_of({(keys[one], keys[other]): score for (one, other), score in told[node.hostname].items()})
    return _read_by_the_agent(devices)


def _read_by_the_agent(devices: Sequence[Device]) -> tuple[Link, ...]:
    by_uuid = {str(device.card["uuid"]): device for device in devices if device.card}
    told: dict[tuple[UUID, UUID], int] = {}
    for uuid, device in by_uuid.items():
        for link in (device.card or {}).get("links", []):
            other = by_uuid.get(str(link["peer"]))
            if other is not None and str(link["peer"]) != uuid:
                told[device.pk, other.pk] = pair_score(link["nvlinks"], link["pcie"])
    return links_of(told)
