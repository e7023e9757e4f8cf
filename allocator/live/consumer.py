"""One connection of one node: frames in, service calls, frames out. It holds no rule of its own."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime
from typing import Any
from uuid import UUID

from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.utils import await_many_dispatch
from django.utils import timezone
from pydantic import TypeAdapter, ValidationError

from allocator.errors import NodeRevoked
from allocator.live.hub import DATABASE_AWAY, hub, in_database
from allocator.services import authenticate
from allocator.services import sync as heartbeat
from allocator.services._desired import Orders
from allocator.services.poke import News
from plumbing.errors import DomainError
from vxpu.wire import WIRE_VERSION
from vxpu.wire.node import FromAgent, Hello, Poke, Refused, Sync

log = logging.getLogger(__name__)

UNAUTHENTICATED = 4401
REVOKED = 4403
TRY_AGAIN = 1013
MAX_FRAME = 1024 * 1024
_FRAMES: TypeAdapter[Any] = TypeAdapter(FromAgent)


def _authenticate(token: str) -> UUID:
    return authenticate.authenticate_once(token=token, now=timezone.now()).pk


def _sync(node_id: UUID, boot_id: str, message: Sync) -> Orders:
    return heartbeat.sync(node_id=node_id, boot_id=boot_id, message=message, now=timezone.now())


class NodeConsumer(AsyncWebsocketConsumer):
    """Closes 4401 for a token that does not hold, 4403 for a revoked node; 1013 asks to come again."""

    node_id: UUID | None = None
    boot_id: str | None = None
    _timer: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        # As Channels does it, without its layer: see hub.py.
        self.scope, self.base_send = scope, send
        try:
            await await_many_dispatch([receive], self.dispatch)
        except StopConsumer:
            return

    async def connect(self) -> None:
        # Accepted before it is judged: only an open socket can carry a close code.
        await self.accept()
        try:
            node_id = await in_database(_authenticate, self._bearer())
        except NodeRevoked:
            await self.close(code=REVOKED)
        except DomainError:
            await self.close(code=UNAUTHENTICATED)
        except DATABASE_AWAY:
            await self.close(code=TRY_AGAIN)
        else:
            self.node_id = node_id
            hub().join(str(node_id), self)

    async def disconnect(self, code: int) -> None:  # noqa: ARG002 - Channels' signature
        self._set_timer(None)
        if self.node_id is not None:
            hub().leave(str(self.node_id), self)
            self.node_id = None

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.node_id is None:
            return
        if text_data is None or bytes_data is not None or len(text_data) > MAX_FRAME:
            await self._refuse("bad_frame", f"Frames are JSON text of at most {MAX_FRAME} bytes.")
            return
        try:
            frame = _FRAMES.validate_json(text_data)
        except ValidationError as error:
            await self._refuse("bad_frame", str(error)[:400])
            return
        if isinstance(frame, Hello):
            await self._greet(frame)
        elif isinstance(frame, Sync):
            await self._answer(self.node_id, frame)
        else:
            await self._refuse("no_such_exec", "No program was started over this connection.")

    async def _greet(self, hello: Hello) -> None:
        if hello.wire_version != WIRE_VERSION:
            await self._refuse("wire_version", f"This server speaks version {WIRE_VERSION}.")
            return
        self.boot_id = hello.boot_id[:64]

    async def _answer(self, node_id: UUID, message: Sync) -> None:
        if self.boot_id is None:
            await self._refuse("no_hello", "Say hello first.")
            return
        try:
            orders = await in_database(_sync, node_id, self.boot_id, message)
        except NodeRevoked:
            await self.close(code=REVOKED)
        except DomainError as error:
            await self._refuse(error.code, error.detail)
        except DATABASE_AWAY:
            log.warning("The database is away; node %s will try again", node_id, exc_info=True)
            await self._refuse("unavailable", "The database cannot be reached.")
        else:
            await self.send(text_data=orders.desired.model_dump_json())
            self._set_timer(orders.changes_at)

    async def take_news(self, news: News) -> None:
        """From the hub."""
        if news == "revoked":
            await self.close(code=REVOKED)
        elif self.node_id is not None:
            await self.send(text_data=Poke().model_dump_json())

    def _set_timer(self, at: datetime | None) -> None:
        """Poke at the very moment when the clock changes the orders; the beat would be up to a second late."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if at is not None and self.node_id is not None:
            delay_s = max((at - timezone.now()).total_seconds(), 0.0)
            self._timer = asyncio.get_running_loop().call_later(delay_s, hub().tell, str(self.node_id), "poke")

    async def _refuse(self, code: str, detail: str) -> None:
        await self.send(text_data=Refused(code=code, detail=detail).model_dump_json())

    def _bearer(self) -> str:
        headers = dict(self.scope["headers"])
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""
