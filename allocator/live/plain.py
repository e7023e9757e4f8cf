"""What both kinds of socket share."""

from __future__ import annotations

from typing import Any

from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.utils import await_many_dispatch

UNAUTHENTICATED = 4401
TRY_AGAIN = 1013


class PlainConsumer(AsyncWebsocketConsumer):
    """A WebSocket without Channels' layer: see hub.py."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scope, self.base_send = scope, send
        try:
            await await_many_dispatch([receive], self.dispatch)
        except StopConsumer:
            return

    def bearer(self) -> str:
        headers = dict(self.scope["headers"])
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""
