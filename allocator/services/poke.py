"""Tell the processes that hold nodes' connections. A lost poke costs a heartbeat, never more."""

from __future__ import annotations

import json
import logging
from typing import Literal
from uuid import UUID

import redis

from plumbing.live.valkey import valkey

log = logging.getLogger(__name__)

# One channel for all nodes: a sockets' process holds one subscription, however many agents it serves.
CHANNEL = "vxpu.nodes"
News = Literal["poke", "revoked"]


def poke(*, node_id: UUID) -> None:
    """Have the node asked to read its desired state."""
    _publish(node_id, "poke")


def close(*, node_id: UUID) -> None:
    """Have the node's connections closed: it was revoked."""
    _publish(node_id, "revoked")


def _publish(node_id: UUID, news: News) -> None:
    try:
        valkey().publish(CHANNEL, json.dumps({"node": str(node_id), "news": news}))
    except (redis.RedisError, OSError):
        log.warning("No way to node %s; it will ask at its next heartbeat", node_id, exc_info=True)
