"""One per sockets' process: passes the news and orders for nodes on to their connections, and beats the pulse.

After Valkey was away every node is poked once.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Protocol
from uuid import UUID
from weakref import WeakKeyDictionary

from django.utils import timezone
from pydantic import TypeAdapter

from allocator.services import watch
from allocator.services.poke import CHANNEL, News
from plumbing.live.bus import Bus, bus
from plumbing.live.database import DATABASE_AWAY, in_database
from vxpu.wire.node import Order

log = logging.getLogger(__name__)

PULSE_S = 2
_ORDERS: TypeAdapter[Order] = TypeAdapter(Order)


class Member(Protocol):
    """A consumer that holds a node's connection."""

    async def take_news(self, news: News) -> None: ...

    async def pass_on(self, order: Order) -> None: ...


class Hub:
    """Members by node id. `start` is idempotent; `stop` waits for the loop's end."""

    def __init__(self, heard_from: Bus) -> None:
        self._bus = heard_from
        self._members: dict[str, set[Member]] = defaultdict(set)
        self._pulse: asyncio.Task[None] | None = None
        self._sending: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        self._bus.listen(CHANNEL, self)
        if self._pulse is None:
            self._pulse = asyncio.create_task(self._beat())

    async def stop(self) -> None:
        while self._pulse is not None and not self._pulse.done():
            self._pulse.cancel()  # asgiref swallows a cancellation that meets a thread at work
            await asyncio.wait([self._pulse], timeout=0.2)
        self._pulse = None

    def join(self, node_id: str, member: Member) -> None:
        self._members[node_id].add(member)

    def leave(self, node_id: str, member: Member) -> None:
        self._members[node_id].discard(member)
        if not self._members[node_id]:
            del self._members[node_id]

    def tell(self, node_id: str, news: News) -> None:
        self._each(node_id, lambda member: member.take_news(news))

    async def order(self, node_id: UUID, order: Order) -> None:
        """To the node, whichever process holds its connection. Raises redis.RedisError, OSError."""
        await self._bus.publish(CHANNEL, json.dumps({"node": str(node_id), "order": order.model_dump(mode="json")}))

    def hear(self, message: bytes) -> None:
        told = json.loads(message)
        if "order" in told:
            order = _ORDERS.validate_python(told["order"])
            self._each(str(told["node"]), partial(_pass_on, order=order))
        else:
            self.tell(str(told["node"]), told["news"])

    def come_back(self) -> None:
        for node_id in tuple(self._members):  # whatever was said while we could not hear
            self.tell(node_id, "poke")

    def go_away(self) -> None:
        """Nodes are served at their heartbeats."""

    def _each(self, node_id: str, call: Callable[[Member], Coroutine[Any, Any, None]]) -> None:
        """Each member in a task of its own: a stalled connection holds up nobody."""
        for member in tuple(self._members.get(node_id, ())):
            sending = asyncio.create_task(_deliver(call(member)))
            self._sending.add(sending)
            sending.add_done_callback(self._sending.discard)

    async def _beat(self) -> None:
        """The watch holds a node's silence against it only while this process was up to hear it."""
        while True:
            try:
                await in_database(_beat_once)
            except DATABASE_AWAY:
                log.warning("The database is away", exc_info=True)
            await asyncio.sleep(PULSE_S)


async def _deliver(sending: Coroutine[Any, Any, None]) -> None:
    try:
        await sending
    except OSError:  # as uvicorn says it: the connection is gone, and its own end comes
        log.debug("A node's connection ended while it was told something")


async def _pass_on(member: Member, *, order: Order) -> None:
    await member.pass_on(order)


def _beat_once() -> None:
    watch.beat(part=watch.DOOR, now=timezone.now())


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """The running loop's hub, started."""
    loop = asyncio.get_running_loop()
    found = _hubs.get(loop)
    if found is None:
        found = _hubs[loop] = Hub(bus())
    found.start()
    return found
