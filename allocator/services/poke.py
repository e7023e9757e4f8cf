"""Tell the process that holds a node's connection. A lost poke costs a heartbeat, never more."""

from __future__ import annotations

import logging
from uuid import UUID

import redis
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer

log = logging.getLogger(__name__)


def group_of(node_id: UUID) -> str:
    """The channel layer's group of the consumers that hold this node's connections."""
    return f"node.{node_id}"


def poke(*, node_id: UUID) -> None:
    """Have the node's desired state sent to it."""
    _send(node_id, {"type": "node.poke"})


def close(*, node_id: UUID) -> None:
    """Have the node's connections closed: it was revoked."""
    _send(node_id, {"type": "node.revoked"})


def _send(node_id: UUID, message: dict[str, str]) -> None:
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        async_to_sync(layer.group_send)(group_of(node_id), message)
    except (redis.RedisError, OSError):
        log.warning("No channel layer for node %s; it will ask at its next heartbeat", node_id, exc_info=True)
