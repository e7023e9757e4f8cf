"""What every kind of our sockets shares."""

from __future__ import annotations

from typing import Any

from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.utils import await_many_dispatch

TRY_AGAIN = 1013
BAD_FRAME = 4400
UNAUTHENTICATED = 4401
FORBIDDEN = 4403


class PlainConsumer(AsyncWebsocketConsumer):
    """A WebSocket without Channels' layer: see bus.py."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scope, self.base_send = scope, send
        try:
            await await_many_dispatch([receive], self.dispatch)
        except StopConsumer:
            return

    def header(self, name: str) -> str:
        """Lower-case `name`; "" if it is not there."""
        return str(dict(self.scope["headers"]).get(name.encode(), b"").decode("latin-1"))

    def bearer(self) -> str:
        scheme, _, token = self.header("authorization").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""
