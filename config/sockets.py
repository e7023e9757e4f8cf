"""The addresses of the WebSockets."""

from __future__ import annotations

from allocator.live import websocket_urlpatterns

__all__ = ["websocket_urlpatterns"]
