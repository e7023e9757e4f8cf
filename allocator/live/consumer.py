"""One connection of one node: frames in, service calls, frames out. It holds no rule of its own."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import DataError, IntegrityError
from django.utils import timezone
from pydantic import TypeAdapter, ValidationError

from allocator.errors import NodeRevoked
from allocator.live.hub import hub
from allocator.live.relay import Relay
from allocator.live.samples import SampleDesk
from allocator.services import authenticate
from allocator.services import sync as heartbeat
from allocator.services._desired import Orders
from allocator.services.poke import News
from plumbing.errors import DomainError
from plumbing.live.bus import bus
from plumbing.live.database import DATABASE_AWAY, in_database
from plumbing.live.sockets import FORBIDDEN, TRY_AGAIN, UNAUTHENTICATED, PlainConsumer
from plumbing.live.valkey import VALKEY_AWAY
from vxpu.wire import WIRE_VERSION
from vxpu.wire.node import (
    FromAgent,
    Hello,
    Order,
    Poke,
    Refused,
    RemoteExec,
    RemoteExit,
    RemoteHangup,
    RemoteOutput,
    RemoteStarted,
    Samples,
    Sync,
    ToProgram,
    Watch,
)

log = logging.getLogger(__name__)

REVOKED = FORBIDDEN
MAX_FRAME = 1024 * 1024
_FRAMES: TypeAdapter[Any] = TypeAdapter(FromAgent)


def _authenticate(token: str) -> UUID:
    return authenticate.authenticate_once(token=token, now=timezone.now()).pk


def _sync(node_id: UUID, boot_id: str, message: Sync) -> Orders:
    return heartbeat.sync(node_id=node_id, boot_id=boot_id, message=message, now=timezone.now())


class NodeConsumer(PlainConsumer):
    """Closes 4401 for a token that does not hold, 4403 for a revoked node; 1013 asks to come again."""

    node_id: UUID | None = None
    boot_id: str | None = None
    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The programs that were asked for over this connection; of others it may not speak.
        self._relays: dict[str, Relay] = {}
        self._in_order = asyncio.Lock()
        self._desk = SampleDesk()

    async def connect(self) -> None:
        # Accepted before it is judged: only an open socket can carry a close code.
        await self.accept()
        try:
            node_id = await in_database(_authenticate, self.bearer())
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
        self._desk.close()
        if self.node_id is not None:
            hub().leave(str(self.node_id), self)
            self.node_id = None
        lost, self._relays = self._relays, {}
        await asyncio.gather(*(relay.lose() for relay in lost.values()))

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
        elif isinstance(frame, Samples):
            self._desk.take(frame, node_id=self.node_id, now=timezone.now(), to=bus())
        else:
            await self._relay(frame)

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
        except (DataError, IntegrityError):  # one key twice, more to sell than there is, a text that no column holds
            log.warning("Node %s says what cannot be", node_id, exc_info=True)
            await self._refuse("bad_frame", "It contradicts itself, or holds what cannot be stored.")
        else:
            await self.send(text_data=orders.desired.model_dump_json())
            self._set_timer(orders.changes_at)

    async def take_news(self, news: News) -> None:
        """From the hub."""
        if news == "revoked":
            await self.close(code=REVOKED)
        elif self.node_id is not None:
            await self.send(text_data=Poke().model_dump_json())

    async def pass_on(self, order: Order) -> None:
        """From the hub: an order for one program, or to look at leases."""
        async with self._in_order:
            if self.node_id is None:
                return
            if isinstance(order, Watch):
                self._desk.expect(order, now=timezone.now())
                await self.send(text_data=order.model_dump_json())
                return
            if isinstance(order, RemoteExec):
                self._relays[order.exec_id] = Relay(order.exec_id, self._order)
            if (relay := self._relays.get(order.exec_id)) is None:
                return
            await self._order(order)
            if isinstance(order, RemoteHangup):
                await relay.outlive_client()

    async def _order(self, order: ToProgram) -> None:
        await self.send(text_data=order.model_dump_json())

    async def _relay(self, frame: RemoteStarted | RemoteOutput | RemoteExit) -> None:
        relay = self._relays.get(frame.exec_id)
        if relay is None:
            await self._refuse("no_such_exec", "No such program was asked for over this connection.")
            return
        try:
            await relay.take(frame)
        except ValueError as error:
            await self._refuse("bad_frame", str(error)[:400])
        except VALKEY_AWAY:
            # Not one try for each program: every try holds this connection's heartbeats up.
            log.warning("Valkey is away; the programs of node %s are ended", self.node_id, exc_info=True)
            for given_up in list(self._relays.values()):
                await given_up.give_up()
            self._relays.clear()
        else:
            if isinstance(frame, RemoteExit):
                self._relays.pop(frame.exec_id, None)

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
