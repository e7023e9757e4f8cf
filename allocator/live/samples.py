"""What a node says of the leases that somebody looks at. Of others it may not speak."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta
from uuid import UUID

from allocator.services._node_note import node_feed
from plumbing.live.bus import Bus
from plumbing.live.publish import NEWS, metrics_message
from plumbing.live.valkey import VALKEY_AWAY
from vxpu.ids import decode
from vxpu.wire.node import EVERY_LEASE, Samples, Watch

log = logging.getLogger(__name__)

# A frame may come a little late, or at the same moment as the end of the watch.
SLACK = timedelta(seconds=2)
# A node that floods is heard this often.
SOONEST = timedelta(milliseconds=90)


def lease_feed(lease_id: UUID) -> str:
    return f"lease:{lease_id}"


class SampleDesk:
    """One connection's. `expect` what was asked for over it; `take` passes on what was."""

    def __init__(self) -> None:
        self._until: dict[str, datetime] = {}
        self._heard_at: datetime | None = None
        self._passing: asyncio.Task[None] | None = None

    def expect(self, watch: Watch, *, now: datetime) -> None:
        self._until = {lease_id: until for lease_id, until in self._until.items() if until > now}
        self._until |= dict.fromkeys(watch.lease_ids, watch.until + SLACK)

    def messages(self, samples: Samples, *, node_id: UUID, now: datetime) -> list[str]:
        """For `NEWS`; none for what was not asked for, or comes too often."""
        if self._heard_at is not None and now - self._heard_at < SOONEST:
            return []
        self._heard_at = now
        found = [
            metrics_message(
                lease_feed(decode("lse", sample.lease_id)), sample.model_dump(mode="json", exclude={"lease_id"})
            )
            for sample in samples.leases
            if sample.lease_id != EVERY_LEASE and self._is_expected(sample.lease_id, now)
        ]
        if self._is_expected(EVERY_LEASE, now):
            found.append(metrics_message(node_feed(node_id), samples.model_dump(mode="json", exclude={"type"})))
        return found

    def take(self, samples: Samples, *, node_id: UUID, now: datetime, to: Bus) -> None:
        """Passed on beside the heartbeats, which must not wait for Valkey; while one is under way others are lost."""
        if self._passing is None or self._passing.done():
            messages = self.messages(samples, node_id=node_id, now=now)
            self._passing = asyncio.create_task(self._pass_on(messages, node_id, to)) if messages else None

    def close(self) -> None:
        if self._passing is not None:
            self._passing.cancel()

    async def _pass_on(self, messages: list[str], node_id: UUID, to: Bus) -> None:
        try:
            for message in messages:
                await to.publish(NEWS, message)
        except VALKEY_AWAY:
            log.debug("Samples of node %s are lost: Valkey is away", node_id)

    def _is_expected(self, lease_id: str, now: datetime) -> bool:
        until = self._until.get(lease_id)
        return until is not None and now <= until
