"""What of the fleet may be watched: see docs/live.md for the list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.utils import timezone

from allocator.live.hub import hub
from allocator.live.samples import lease_feed
from allocator.models import Lease
from allocator.selectors import leases, nodes
from allocator.services._node_note import FLEET_FEED, node_feed
from plumbing.errors import Forbidden, NotFound
from plumbing.live.topics import Topic, View
from plumbing.principal import Principal
from vxpu.ids import BadId, decode, encode
from vxpu.wire.node import EVERY_LEASE, Watch

# Two renewals may be lost before the node stops.
WATCH_S = 10
RENEW_S = 3.0


def _lease_metrics(principal: Principal, parts: Mapping[str, str]) -> View:
    if not principal.may("lease:read"):
        raise Forbidden("This needs the scope lease:read.")
    lease = leases.get_lease(lease_id=_id("lse", parts["lease"]))
    return View(
        feed=lease_feed(lease.pk),
        snapshot=partial(_limits_of, lease.pk),
        keep=_watching(lease.node_id, [encode("lse", lease.pk)]),
    )


def _limits_of(lease_id: UUID) -> dict[str, Any]:
    """What is known before the node has said anything: the limits, and that nothing was read yet."""
    lease: Lease = leases.get_lease(lease_id=lease_id)
    unread = {"value": None, "at": None, "quality": "unavailable"}
    return {
        "at": timezone.now().isoformat(),
        "state": str(lease.state),
        "memory_mib": unread,
        "memory_limit_mib": lease.memory_mib,
        "compute_permille": unread,
        "compute_limit_permille": lease.share_permille,
        "throttled_permille": unread,
        "power_mw": unread,
        "processes": None,
    }


def _watching(node_id: UUID, lease_ids: list[str]) -> Callable[[], Awaitable[None]]:
    async def keep() -> None:
        until = timezone.now() + timedelta(seconds=WATCH_S)
        await hub().order(node_id, Watch(lease_ids=lease_ids, until=until))

    return keep


def _id(prefix: str, text: str) -> UUID:
    """Raises NotFound."""
    try:
        return decode(prefix, text)
    except BadId as error:
        raise NotFound(str(error)) from error


def _fleet(principal: Principal, parts: Mapping[str, str]) -> View:  # noqa: ARG001 - the topic has no parts
    if not principal.may("lease:read"):
        raise Forbidden("This needs the scope lease:read.")
    return View(feed=FLEET_FEED, snapshot=lambda: {"as_of": timezone.now().isoformat()})


def _all_devices(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The newest figures of each device of either."""
    newest = {device["id"]: device for device in (*before["devices"], *after["devices"])}
    return {"devices": list(newest.values())}


def _node(principal: Principal, parts: Mapping[str, str]) -> View:
    if not principal.is_operator or not principal.may("node:read"):
        raise NotFound(f"There is no topic node/{parts['node']}.")
    node_id = _id("nod", parts["node"])
    nodes.get_node(node_id=node_id, now=timezone.now())
    return View(
        feed=node_feed(node_id),
        snapshot=lambda: {"node": parts["node"], "at": timezone.now().isoformat()},
        keep=_watching(node_id, [EVERY_LEASE]),
    )


TOPICS = [
    Topic(pattern="lease/{lease}/metrics", open=_lease_metrics, keep_s=RENEW_S),
    Topic(pattern="fleet", open=_fleet, period_s=1.0, merge=_all_devices),
    Topic(pattern="node/{node}", open=_node, keep_s=RENEW_S),
]
