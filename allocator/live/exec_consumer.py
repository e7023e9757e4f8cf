"""The client's end of a remote program: a ticket opens the socket, the node's answers come through it.

It holds no database connection. Closing the socket, for whatever reason, ends the program.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from django.utils import timezone
from pydantic import TypeAdapter, ValidationError

from allocator.live.exec_beat import Beat, record_end
from allocator.live.hub import hub
from allocator.live.relay import LOST_CODE
from allocator.services import _exec_keys as keys
from plumbing.live import tickets
from plumbing.live.bus import bus
from plumbing.live.sockets import BAD_FRAME, TRY_AGAIN, UNAUTHENTICATED, PlainConsumer
from plumbing.live.valkey import VALKEY_AWAY
from vxpu.wire.exec import (
    ExecEnded,
    ExecRefused,
    ExecSignal,
    ExecStarted,
    ExecTaken,
    ExecTruncated,
    FromStream,
    ToStream,
)
from vxpu.wire.node import RemoteHangup, RemoteSignal, RemoteTaken, ToProgram

log = logging.getLogger(__name__)

MAX_FRAME = 1024
# A node that is connected starts a program within a second or two.
START_S = 10.0
LOOK_MS = 1000
AT_ONCE = 8
NODE_LOST = ExecEnded(code=LOST_CODE, platform="node_lost")
VALKEY_LOST = ExecEnded(code=LOST_CODE, platform="unavailable")
_FRAMES: TypeAdapter[Any] = TypeAdapter(ToStream)
_MESSAGES: TypeAdapter[Any] = TypeAdapter(FromStream)


class ExecConsumer(PlainConsumer):
    """Closes 4401 for a ticket that is unknown, used or lapsed; 4400 for a frame that is none; 1000 after the end."""

    ticket: keys.Ticket | None = None
    _session: asyncio.Task[None] | None = None
    _has_started = False
    _is_lost = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._early: list[ToProgram] = []
        self._last_entry: bytes = b"0"
        self._next = 0

    async def connect(self) -> None:
        await self.accept()
        try:
            found = await tickets.redeem(bus().valkey, "exec", self.bearer())
        except VALKEY_AWAY:
            await self.close(code=TRY_AGAIN)
            return
        if found is None:
            await self.close(code=UNAUTHENTICATED)
            return
        self.ticket = keys.Ticket.model_validate_json(found)
        self._session = asyncio.create_task(self._serve(self.ticket))

    async def disconnect(self, code: int) -> None:  # noqa: ARG002 - Channels' signature
        if self._session is not None:
            self._session.cancel()
            await asyncio.gather(self._session, return_exceptions=True)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.ticket is None:
            return
        if text_data is None or bytes_data is not None or len(text_data) > MAX_FRAME:
            await self.close(code=BAD_FRAME)
            return
        try:
            frame: ExecSignal | ExecTaken = _FRAMES.validate_json(text_data)
        except ValidationError:
            await self.close(code=BAD_FRAME)
            return
        exec_id = self.ticket.order.exec_id
        if isinstance(frame, ExecTaken):
            await self._order(RemoteTaken(exec_id=exec_id, frames=frame.frames))
        elif self._has_started:
            await self._order(RemoteSignal(exec_id=exec_id, signal=frame.signal))
        elif len(self._early) < AT_ONCE:
            self._early.append(RemoteSignal(exec_id=exec_id, signal=frame.signal))

    async def _serve(self, ticket: keys.Ticket) -> None:
        """From the order to the end, which is the last thing said. Cancelled when the client goes."""
        exec_id = ticket.order.exec_id
        beat = Beat(bus().valkey, exec_id, ticket.lease_id, "client", self._on_silence)
        ended: ExecRefused | ExecEnded | None = None
        try:
            await beat.start()
            await hub().order(ticket.node_id, ticket.order)
            ended = await self._follow(keys.stream_key(exec_id))
            if ended is NODE_LOST:
                await record_end(bus().valkey, exec_id, ticket.lease_id, ended, now=timezone.now())
        except VALKEY_AWAY:
            log.warning("Valkey is away; %s is given up", exec_id, exc_info=True)
            ended = VALKEY_LOST
        finally:
            beat.stop()
            if ended in {None, NODE_LOST, VALKEY_LOST}:
                await self._order(RemoteHangup(exec_id=exec_id))
        await self.send(text_data=ended.model_dump_json())
        await self.close(code=1000)

    async def _follow(self, stream: str) -> ExecRefused | ExecEnded:
        """Say what the node's end writes, until it is the end, or is not to be expected any more."""
        ordered = time.monotonic()
        while True:
            for message in await self._read(stream):
                if isinstance(message, ExecRefused | ExecEnded):
                    return message
                await self.send(text_data=message.model_dump_json())
                if isinstance(message, ExecStarted):
                    await self._begin()
            if self._is_lost or (not self._has_started and time.monotonic() - ordered > START_S):
                return NODE_LOST

    async def _begin(self) -> None:
        self._has_started = True
        for order in self._early:
            await self._order(order)

    async def _read(self, stream: str) -> list[Any]:
        """What is new in the stream, after a wait of a second at most; a gap in the numbers is said where it is."""
        found: Any = await bus().valkey.xread({stream: self._last_entry}, count=AT_ONCE, block=LOOK_MS)
        messages: list[Any] = []
        for entry, fields in found[0][1] if found else []:
            number = int(fields[b"n"])
            if number > self._next:
                messages.append(ExecTruncated())
            self._last_entry, self._next = entry, number + 1
            messages.append(_MESSAGES.validate_json(fields[b"m"]))
        return messages

    async def _on_silence(self) -> None:
        """The process that held the node's connection is dead."""
        self._is_lost = self._has_started

    async def _order(self, order: ToProgram) -> None:
        """A lost order costs no more than its program: the beats find out."""
        if self.ticket is None:
            return
        try:
            await hub().order(self.ticket.node_id, order)
        except VALKEY_AWAY:
            log.warning("No way to node %s", self.ticket.node_id)
