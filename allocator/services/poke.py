"""Tell the processes that hold nodes' connections. A lost poke costs a heartbeat, never more."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Literal
from uuid import UUID

import redis

from plumbing.live.valkey import valkey

log = logging.getLogger(__name__)

# One channel for all nodes: a sockets' process holds one subscription, however many agents it serves.
CHANNEL = "vxpu.nodes"
News = Literal["poke", "revoked"]


def poke_all(*, node_ids: Sequence[UUID]) -> None:
    """Have the nodes asked to read their desired state; one round trip for all."""
    _publish(node_ids, "poke")


def close(*, node_id: UUID) -> None:
    """Have the node's connections closed: it was revoked."""
    _publish([node_id], "revoked")


def _publish(node_ids: Sequence[UUID], news: News) -> None:
    if not node_ids:
        return
    try:
        with valkey().pipeline(transaction=False) as pipe:
            for node_id in node_ids:
                pipe.publish(CHANNEL, json.dumps({"node": str(node_id), "news": news}))
            pipe.execute()
    except (redis.RedisError, OSError):
        log.warning("No way to %d nodes; they will ask at their next heartbeat", len(node_ids), exc_info=True)
