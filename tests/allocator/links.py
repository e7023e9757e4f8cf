"""The far ends of the sockets, through Channels: an agent's, and a tenant's who runs a program."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, Self, TypeVar

from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator

from allocator.live import ExecConsumer, NodeConsumer
from allocator.live.hub import hub
from allocator.services import poke
from plumbing.live.bus import bus
from plumbing.live.live import live
from plumbing.rowsec import system_scope
from tests.allocator.factories import Node
from vxpu.wire.exec import STREAM_PATH
from vxpu.wire.node import SOCKET_PATH, Sync

HELLO = {"type": "hello", "wire_version": 1, "agent_version": "test", "boot_id": "b1"}
T = TypeVar("T")

# A loop holds its tasks weakly: an end that a story lets go of would be collected half done, and fail any later test.
_held: dict[asyncio.AbstractEventLoop, list[Link]] = {}


def now() -> datetime:
    return datetime.now(UTC)


class Link:
    """The agent's end of a WebSocket."""

    consumer: Any = NodeConsumer
    path = SOCKET_PATH

    def __init__(self, token: str) -> None:
        scope = {"type": "websocket", "path": self.path, "headers": self.headers(token)}
        app = self.make_app()
        self._gate: asyncio.Event | None = None

        async def slowed(scope: Any, receive: Any, send: Any) -> None:
            async def send_when_open(message: Any) -> None:
                if self._gate is not None:
                    await self._gate.wait()
                await send(message)

            await app(scope, receive, send_when_open)

        self._app: Any = ApplicationCommunicator(slowed, scope)  # type: ignore[no-untyped-call] # asgiref has no types

    def make_app(self) -> Any:
        return self.consumer.as_asgi()

    def headers(self, token: str) -> list[tuple[bytes, bytes]]:
        return [(b"authorization", f"Bearer {token}".encode())]

    async def connect(self) -> None:
        _held.setdefault(asyncio.get_running_loop(), []).append(self)
        await self._app.send_input({"type": "websocket.connect"})
        assert (await self._app.receive_output(10))["type"] == "websocket.accept"

    async def send(self, frame: dict[str, Any] | str) -> None:
        text = frame if isinstance(frame, str) else json.dumps(frame)
        await self._app.send_input({"type": "websocket.receive", "text": text})

    async def answer(self, *, wanted: str) -> dict[str, Any]:
        """The next frame of a type; others that come in between are passed over."""
        while True:
            frame: dict[str, Any] = json.loads((await self._app.receive_output(20))["text"])
            if frame["type"] == wanted:
                return frame

    async def next(self) -> dict[str, Any]:
        """The next frame, whatever it is."""
        found: dict[str, Any] = json.loads((await self._app.receive_output(20))["text"])
        return found

    async def close_code(self) -> int:
        """Frames that were on their way are passed over."""
        while True:
            frame = await self._app.receive_output(20)
            if frame["type"] == "websocket.close":
                return int(frame["code"])

    async def is_quiet(self) -> bool:
        return bool(await self._app.receive_nothing(0.3))

    def stall(self, gate: asyncio.Event) -> None:
        """Take nothing more until the gate opens."""
        self._gate = gate

    async def hang_up(self) -> None:
        await self._app.send_input({"type": "websocket.disconnect", "code": 1000})
        await self._app.wait(10)

    async def end(self) -> None:
        """The server's half is cancelled, and gets to its last line."""
        self._app.stop(exceptions=False)
        await asyncio.gather(self._app.future, return_exceptions=True)


class Client(Link):
    """The tenant's end of a program's stream; the token is the ticket."""

    consumer: Any = ExecConsumer
    path = STREAM_PATH


def sync_frame(node: Node) -> dict[str, Any]:
    message = Sync(seq=7, sent_at=now(), devices=node.devices, leases=[])
    found: dict[str, Any] = json.loads(message.model_dump_json())
    return found


async def _wind_up() -> None:
    for link in _held.pop(asyncio.get_running_loop(), []):
        await link.end()
    await live().stop()
    await hub().stop()
    await bus().stop()


def run(story: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        try:
            await story()
        finally:
            await _wind_up()

    asyncio.run(whole())


async def greeted(node: Node) -> Link:
    link = Link(node.token(now=now()))
    await link.connect()
    await link.send(HELLO)
    return link


async def poked(link: Link, node: Node) -> None:
    """Poke until it is heard: the hub subscribes a moment after the first node is there."""
    while await link.is_quiet():
        await sync_to_async(poke.poke_all)(node_ids=[node.id])
    await link.answer(wanted="poke")


def in_system(call: Callable[[], Any]) -> Awaitable[Any]:
    def scoped() -> Any:
        with system_scope():
            return call()

    return sync_to_async(scoped)()


class OtherProcess:
    """A second event loop with a hub of its own: to ours it is another sockets' process. `freeze` is its kill -9."""

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._thread.is_alive():
            self._start()
        self(self._end_tasks(), timeout_s=20)
        self.freeze()
        self._loop.close()

    def __call__(self, work: Coroutine[Any, Any, T], *, timeout_s: float = 30) -> T:
        """Run there, wait here (in a thread, if this is a loop too: `asyncio.to_thread`)."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    def freeze(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    @staticmethod
    async def _end_tasks() -> None:
        await _wind_up()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await bus().stop()
