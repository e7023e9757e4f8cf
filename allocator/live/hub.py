"""One per sockets' process: hears the news for all nodes on one subscription, and beats the process's pulse.

Channels' own layer is not used: it refuses a connection while Valkey is away, and an agent that cannot connect closes
its gates. Here a lost Valkey costs pokes and remote programs only; after it is back every node is poked once.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

import redis.asyncio
from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, Scope
from channels.db import database_sync_to_async
from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.utils import timezone
from psycopg_pool import PoolTimeout
from pydantic import TypeAdapter
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from allocator.services import watch
from allocator.services.poke import CHANNEL, News
from plumbing.rowsec import system_scope
from vxpu.wire.node import ToProgram

log = logging.getLogger(__name__)

PULSE_S = 2
RETRY_S = 1.0
DATABASE_AWAY = (OperationalError, InterfaceError, PoolTimeout)
VALKEY_AWAY = (redis.RedisError, OSError)
_ORDERS: TypeAdapter[ToProgram] = TypeAdapter(ToProgram)
P = ParamSpec("P")
R = TypeVar("R")


async def in_database(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """In a thread of the loop's own pool and in the system scope.

    Not in the one thread that asgiref keeps for "sensitive" code: there one node that waits for a row, or for a
    database that is away, would hold up every other's heartbeat until its gates close.
    """

    def scoped() -> R:
        with system_scope():
            return call(*args, **kwargs)

    found: R = await database_sync_to_async(scoped, thread_sensitive=False)()
    return found


class Member(Protocol):
    """A consumer that holds a node's connection."""

    async def take_news(self, news: News) -> None: ...

    async def pass_on(self, order: ToProgram) -> None: ...


class Hub:
    """Members by node id. `start` is idempotent; `stop` waits for the loops' end."""

    def __init__(self) -> None:
        self._members: dict[str, set[Member]] = defaultdict(set)
        self._loops: list[asyncio.Task[None]] = []
        self._sending: set[asyncio.Task[None]] = set()
        self.valkey = _valkey()

    def start(self) -> None:
        if not self._loops:
            self._loops = [asyncio.create_task(self._listen()), asyncio.create_task(self._beat())]

    async def stop(self) -> None:
        running = set(self._loops)
        while running:  # asgiref swallows a cancellation that meets a thread at work
            for loop in running:
                loop.cancel()
            _, running = await asyncio.wait(running, timeout=0.2)
        self._loops = []
        await self.valkey.aclose()

    def join(self, node_id: str, member: Member) -> None:
        self._members[node_id].add(member)

    def leave(self, node_id: str, member: Member) -> None:
        self._members[node_id].discard(member)
        if not self._members[node_id]:
            del self._members[node_id]

    def tell(self, node_id: str, news: News) -> None:
        self._each(node_id, lambda member: member.take_news(news))

    async def order(self, node_id: UUID, order: ToProgram) -> None:
        """To the node, whichever process holds its connection. Raises redis.RedisError, OSError."""
        await self.valkey.publish(CHANNEL, json.dumps({"node": str(node_id), "order": order.model_dump(mode="json")}))

    def _each(self, node_id: str, call: Callable[[Member], Coroutine[Any, Any, None]]) -> None:
        """Each member in a task of its own: a stalled connection holds up nobody."""
        for member in tuple(self._members.get(node_id, ())):
            sending = asyncio.create_task(call(member))
            self._sending.add(sending)
            sending.add_done_callback(self._sending.discard)

    async def _listen(self) -> None:
        while True:
            try:
                async with redis.asyncio.Redis.from_url(settings.REDIS_URL) as client, client.pubsub() as pubsub:
                    await pubsub.subscribe(CHANNEL)
                    await self._hear(pubsub)
            except VALKEY_AWAY:
                log.warning("Valkey is away; nodes are served at their heartbeats", exc_info=True)
                await asyncio.sleep(RETRY_S)

    async def _hear(self, pubsub: Any) -> None:
        async for message in pubsub.listen():
            if message["type"] == "subscribe":
                for node_id in tuple(self._members):  # whatever was said while we could not hear
                    self.tell(node_id, "poke")
            elif message["type"] == "message":
                told = json.loads(message["data"])
                if "order" in told:
                    order = _ORDERS.validate_python(told["order"])
                    self._each(str(told["node"]), partial(_pass_on, order=order))
                else:
                    self.tell(str(told["node"]), told["news"])

    async def _beat(self) -> None:
        """The watch holds a node's silence against it only while this process was up to hear it."""
        while True:
            try:
                await in_database(_beat_once)
            except DATABASE_AWAY:
                log.warning("The database is away", exc_info=True)
            await asyncio.sleep(PULSE_S)


async def _pass_on(member: Member, *, order: ToProgram) -> None:
    await member.pass_on(order)


def _valkey() -> redis.asyncio.Redis:
    """One try: a Valkey that is away must not hold a node's heartbeat up. Each stream that is read takes a link."""
    return redis.asyncio.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=3,
        socket_connect_timeout=2,
        max_connections=10_000,
        retry=Retry(NoBackoff(), 0),
    )


def _beat_once() -> None:
    watch.beat(part=watch.DOOR, now=timezone.now())


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """The running loop's hub, started."""
    found = _hubs.setdefault(asyncio.get_running_loop(), Hub())
    found.start()
    return found


async def lifespan(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:  # noqa: ARG001 - ASGI
    """The process's pulse begins with the process, not with the first node that finds its way back."""
    answers: dict[str, Callable[[], Any]] = {
        "lifespan.startup": lambda: send({"type": "lifespan.startup.complete"}),
        "lifespan.shutdown": lambda: send({"type": "lifespan.shutdown.complete"}),
    }
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            hub()
        else:
            await hub().stop()
        await answers[message["type"]]()
        if message["type"] == "lifespan.shutdown":
            return
