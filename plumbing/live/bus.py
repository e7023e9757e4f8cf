"""One per sockets' process: its one subscription to Valkey, and its client.

Channels' own layer is not used: it refuses a connection while Valkey is away, and an agent that cannot connect closes
its gates. Here a lost Valkey costs news only; who listens is told when it comes back.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from plumbing.live.valkey import VALKEY_AWAY, listening_valkey, loop_valkey

log = logging.getLogger(__name__)

PREFIX = "vxpu."
RETRY_S = 1.0


class Listener(Protocol):
    """Called in the loop, in the order of what was said."""

    def hear(self, message: bytes) -> None: ...

    def come_back(self) -> None:
        """News is heard from here on; whatever was said before may have been missed."""

    def go_away(self) -> None:
        """Nothing is heard until `come_back`."""


class Bus:
    """`start` and `listen` are idempotent; `stop` waits for the loop's end."""

    def __init__(self) -> None:
        self.valkey = loop_valkey()
        self.is_up = asyncio.Event()
        self._listeners: dict[str, Listener] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._listen())

    async def stop(self) -> None:
        while self._task is not None and not self._task.done():
            self._task.cancel()  # the client swallows one that meets its connecting
            await asyncio.wait([self._task], timeout=0.2)
        self._task = None
        self.is_up.clear()
        await self.valkey.aclose()

    def listen(self, channel: str, listener: Listener) -> None:
        """`channel` begins with `PREFIX`; each has one listener."""
        if self._listeners.get(channel) is not listener:
            self._listeners[channel] = listener
            if self.is_up.is_set():
                listener.come_back()

    async def publish(self, channel: str, message: str) -> None:
        """Raises redis.RedisError, OSError."""
        await self.valkey.publish(channel, message)

    async def _listen(self) -> None:
        while True:
            try:
                async with listening_valkey() as client, client.pubsub() as pubsub:
                    await pubsub.psubscribe(PREFIX + "*")
                    await self._hear(pubsub)
            except VALKEY_AWAY:
                log.warning("Valkey is away; nodes are served at their heartbeats", exc_info=True)
                if self.is_up.is_set():
                    self.is_up.clear()
                    for listener in tuple(self._listeners.values()):
                        listener.go_away()
                await asyncio.sleep(RETRY_S)

    async def _hear(self, pubsub: Any) -> None:
        async for message in pubsub.listen():
            if message["type"] == "psubscribe":
                self.is_up.set()
                for listener in tuple(self._listeners.values()):
                    listener.come_back()
            elif message["type"] == "pmessage":
                self._tell(message["channel"].decode(), message["data"])

    def _tell(self, channel: str, message: bytes) -> None:
        listener = self._listeners.get(channel)
        if listener is None:
            return
        try:
            listener.hear(message)
        except Exception:  # one message that nobody can read must not end the subscription for all
            log.exception("A message on %s cannot be taken", channel)


_buses: WeakKeyDictionary[asyncio.AbstractEventLoop, Bus] = WeakKeyDictionary()


def bus() -> Bus:
    """The running loop's bus, started."""
    loop = asyncio.get_running_loop()
    found = _buses.get(loop)
    if found is None:
        found = _buses[loop] = Bus()
    found.start()
    return found
