"""The node's end of a remote program: what its connection says becomes a stream in Valkey.

The process that holds the client reads that stream, and what is left of it afterwards is the program's log.
"""

from __future__ import annotations

import base64
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from allocator.live.exec_beat import Beat, record_end
from allocator.services import _exec_keys as keys
from plumbing.live.bus import bus
from plumbing.live.valkey import VALKEY_AWAY
from vxpu.wire.exec import ExecEnded, ExecOutput, ExecRefused, ExecStarted
from vxpu.wire.node import (
    OUTPUT_BYTES,
    WINDOW_FRAMES,
    RemoteExit,
    RemoteHangup,
    RemoteOutput,
    RemoteStarted,
    RemoteTaken,
    ToProgram,
)

log = logging.getLogger(__name__)

LOST_CODE = 125
# What an entry of the stream costs beside its text.
ENTRY_BYTES = 256
Message = ExecStarted | ExecRefused | ExecOutput | ExecEnded


class Relay:
    """One program. `order` sends a frame to its node; the methods raise redis.RedisError or OSError but for `lose`."""

    def __init__(self, exec_id: str, order: Callable[[ToProgram], Awaitable[None]]) -> None:
        self.exec_id = exec_id
        self._order = order
        self._valkey = bus().valkey
        self._beat: Beat | None = None
        self._lease_id: UUID | None = None
        self._is_alone = False
        self._count = 0
        self._held: deque[tuple[bytes, int]] = deque()
        self._bytes = 0

    async def take(self, frame: RemoteStarted | RemoteOutput | RemoteExit) -> None:
        """Raises ValueError for a frame that cannot be passed on."""
        match frame:
            case RemoteStarted():
                await self._start(frame)
            case RemoteOutput():
                await self._pass_output(frame)
            case RemoteExit():
                await self._end(frame)

    async def outlive_client(self) -> None:
        """Nobody reads any more, but its last words are for the log: it must not wait for a reader."""
        self._is_alone = True
        await self._order(RemoteTaken(exec_id=self.exec_id, frames=WINDOW_FRAMES))

    async def lose(self) -> None:
        """The node is gone. What had not started is left to the client's patience: another connection may have it."""
        if self._beat is None:
            return
        try:
            await self._finish(ExecEnded(code=LOST_CODE, platform="node_lost"))
        except VALKEY_AWAY:
            log.warning("The end of %s could not be written down", self.exec_id)

    async def give_up(self) -> None:
        """Nothing can be written down any more."""
        if self._beat is not None:
            self._beat.stop()
        await self._order(RemoteHangup(exec_id=self.exec_id))

    async def _start(self, frame: RemoteStarted) -> None:
        if self._beat is not None:
            raise ValueError("it has started before")
        self._beat = Beat(self._valkey, self.exec_id, await self._find_lease(), "node", self._on_silence)
        await self._beat.start()
        await self._write(ExecStarted(lease_id=frame.lease_id, isolation=frame.isolation))

    async def _pass_output(self, frame: RemoteOutput) -> None:
        if self._beat is None:
            raise ValueError("it has not started")
        base64.b64decode(frame.data, validate=True)
        await self._write(ExecOutput(stream=frame.stream, data=frame.data))
        if self._is_alone:
            await self._order(RemoteTaken(exec_id=self.exec_id, frames=1))

    async def _end(self, frame: RemoteExit) -> None:
        if self._beat is not None:
            await self._finish(ExecEnded(code=frame.code, platform=frame.detail))
            return
        code, _, detail = frame.detail.partition(": ")
        await self._write(ExecRefused(code=code or "cannot_start", detail=detail))
        ended = ExecEnded(code=frame.code, platform=f"refused: {code}")
        await record_end(self._valkey, self.exec_id, await self._find_lease(), ended, now=timezone.now())

    async def _finish(self, ended: ExecEnded) -> None:
        if self._beat is not None:
            self._beat.stop()
        await self._write(ended)
        await record_end(self._valkey, self.exec_id, await self._find_lease(), ended, now=timezone.now())

    async def _find_lease(self) -> UUID:
        """Raises ValueError when nothing is known of the program any more."""
        if self._lease_id is None:
            found: Any = await self._valkey.hget(keys.record_key(self.exec_id), "lease")
            if found is None:
                raise ValueError("the record of this program has lapsed")
            self._lease_id = UUID(found.decode())
        return self._lease_id

    async def _on_silence(self) -> None:
        """The client's process is dead."""
        if not self._is_alone:
            await self._order(RemoteHangup(exec_id=self.exec_id))
            await self.outlive_client()

    async def _write(self, message: Message) -> None:
        """Append it, and drop the oldest beyond the bound: no reader misses any if the node heeds its window."""
        text = message.model_dump_json()
        size = ENTRY_BYTES + len(text) * 3 // 4
        stream = keys.stream_key(self.exec_id)
        pipe = self._valkey.pipeline(transaction=False)
        pipe.xadd(stream, {"n": self._count, "m": text})
        self._bytes += size
        if self._bytes > _bound():
            while self._bytes > _bound() and self._held:
                self._bytes -= self._held.popleft()[1]
            if self._held:
                pipe.xtrim(stream, minid=self._held[0][0], approximate=False)
        entry = (await pipe.execute())[0]
        self._count += 1
        self._held.append((entry, size))


def _bound() -> int:
    """At least the window: what is on its way to a reader is not dropped."""
    return int(max(settings.VXPU_EXEC_LOG_KIB * 1024, (WINDOW_FRAMES + 1) * (OUTPUT_BYTES + 2 * ENTRY_BYTES)))
