"""The agents' socket: one outbound connection of each node carries its heartbeats and our pokes."""

from __future__ import annotations

from django.urls import path

from allocator.live.consumer import NodeConsumer
from allocator.live.hub import lifespan
from vxpu.wire.node import SOCKET_PATH

__all__ = ["NodeConsumer", "lifespan", "websocket_urlpatterns"]

websocket_urlpatterns = [path(SOCKET_PATH.lstrip("/"), NodeConsumer.as_asgi())]  # type: ignore[arg-type] - an ASGI path
