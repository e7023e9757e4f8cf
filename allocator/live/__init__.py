"""The agents' socket: one outbound connection of each node carries its heartbeats and our pokes."""

from __future__ import annotations

from typing import Any

from django.urls import path

from allocator.live.consumer import NodeConsumer
from allocator.live.hub import lifespan
from vxpu.wire.node import SOCKET_PATH

__all__ = ["NodeConsumer", "lifespan", "websocket_urlpatterns"]

# Django's types know views only; an ASGI route takes an ASGI application.
_consumer: Any = NodeConsumer.as_asgi()
websocket_urlpatterns = [path(SOCKET_PATH.lstrip("/"), _consumer)]
