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
from allocator.selectors import leases
from plumbing.errors import Forbidden, NotFound
from plumbing.live.topics import Topic, View
from plumbing.principal import Principal
from vxpu.ids import BadId, decode, encode
from vxpu.wire.node import Watch

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


TOPICS = [Topic(pattern="lease/{lease}/metrics", open=_lease_metrics, keep_s=RENEW_S)]
