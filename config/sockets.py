"""The addresses of the WebSockets."""

from __future__ import annotations

import asyncio
from typing import Any

from django.urls import re_path

from allocator.live import websocket_urlpatterns as _live
from plumbing.api.errors import CONTENT_TYPE, no_such_address

__all__ = ["websocket_urlpatterns"]


async def _nowhere(scope: Any, receive: Any, send: Any) -> None:
    """Any other address: the problem document where the server can say more than "closed" (uvicorn can)."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close"})
        return
    headers = [(b"content-type", CONTENT_TYPE.encode())]
    await send({"type": "websocket.http.response.start", "status": 404, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": no_such_address()})
    await asyncio.sleep(0)  # uvicorn takes the handshake for unfinished until the connection is closed


# Django's types know views only; an ASGI route takes an ASGI application.
_fallback: Any = _nowhere
websocket_urlpatterns = [*_live, re_path("", _fallback)]
