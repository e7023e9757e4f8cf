"""The addresses of the WebSockets."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

websocket_urlpatterns: list[Any] = []

if find_spec("allocator.live") is not None:
    from allocator.live import websocket_urlpatterns as node_sockets

    websocket_urlpatterns += node_sockets
