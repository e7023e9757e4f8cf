"""One per sockets' process: every live connection, the rooms of what they watch, and the judge who looks again."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, Protocol
from uuid import UUID
from weakref import WeakKeyDictionary

from django.conf import settings

from plumbing.live.bus import Bus, bus
from plumbing.live.credentials import Credential, FindPrincipals
from plumbing.live.database import DATABASE_AWAY, in_database
from plumbing.live.publish import CONTROL, NEWS
from plumbing.live.rooms import NOTHING, Room, Subscription, parse_news
from plumbing.principal import Principal

log = logging.getLogger(__name__)

HEARTBEAT_S = 15
AT_ONCE = 50
# As `since`: certainly not there, so that a gap is said and a snapshot follows.
NO_SUCH = "none"


class Connection(Protocol):
    """A live consumer that has said hello."""

    credential: Credential
    find_principals: FindPrincipals

    def subscriptions(self) -> Iterable[Subscription]: ...

    def say_status(self, *, is_live: bool) -> None: ...

    def ping(self) -> None: ...

    async def catch_up_again(self, subscription: Subscription, *, since: str) -> None: ...

    async def judge(self, found: Principal | None) -> None:
        """The credential was looked at just now; None: it does not hold any more."""

    def doubt(self) -> None:
        """It could not be looked at."""


class Live:
    """`start` is idempotent; `stop` waits for the loops' end."""

    def __init__(self, heard_from: Bus) -> None:
        self.bus = heard_from
        self.connections: set[Connection] = set()
        # Sockets by credential, those among them that are being closed but are not gone.
        self.open_by: Counter[UUID] = Counter()
        self._rooms: dict[str, Room] = {}
        self._loops: list[asyncio.Task[None]] = []
        self._work: set[asyncio.Task[None]] = set()
        self._control = _Control(self)

    def start(self) -> None:
        self.bus.listen(NEWS, self)
        self.bus.listen(CONTROL, self._control)
        if not self._loops:
            self._loops = [asyncio.create_task(self._judge_all()), asyncio.create_task(self._beat())]

    async def stop(self) -> None:
        for room in self._rooms.values():
            room.close()
        running = {*self._loops, *self._work}
        while running:  # asgiref swallows a cancellation that meets a thread at work
            for task in running:
                task.cancel()
            _, running = await asyncio.wait(running, timeout=0.2)
        self._loops = []

    def join(self, subscription: Subscription) -> None:
        feed = subscription.view.feed
        if feed not in self._rooms:
            self._rooms[feed] = Room(feed, subscription.spec)
        self._rooms[feed].join(subscription)

    def leave(self, subscription: Subscription) -> None:
        subscription.is_over = True
        room = self._rooms.get(subscription.view.feed)
        if room is not None:
            room.subscriptions.discard(subscription)
            if not room.subscriptions:
                room.close()
                del self._rooms[subscription.view.feed]

    def hear(self, message: bytes) -> None:
        feed, seq, data = parse_news(message)
        room = self._rooms.get(feed)
        if room is None:
            return
        if seq:
            room.news(seq, data)
        else:
            room.metrics(data)

    def come_back(self) -> None:
        """What was said meanwhile is missing: every topic goes on from its last number, or by a snapshot."""
        for connection in tuple(self.connections):
            connection.say_status(is_live=True)
            for subscription in connection.subscriptions():
                self.again(connection, subscription, since=subscription.seq if subscription.seq != NOTHING else "")

    def go_away(self) -> None:
        for connection in tuple(self.connections):
            connection.say_status(is_live=False)

    def again(self, connection: Connection, subscription: Subscription, *, since: str) -> None:
        subscription.held = subscription.held or []
        self._do(connection.catch_up_again(subscription, since=since))

    def look_again(self, user_id: str) -> None:
        """At once, for something has changed."""
        asked = [connection for connection in self.connections if str(connection.credential.user_id) == user_id]
        if asked:
            self._do(self._judge(asked))

    def lose(self, feeds: Iterable[str]) -> None:
        """News of these could not be said."""
        lost = set(feeds)
        for connection in self.connections:
            for subscription in connection.subscriptions():
                if subscription.view.feed in lost:
                    self.again(connection, subscription, since=NO_SUCH)

    async def _judge_all(self) -> None:
        while True:
            await asyncio.sleep(settings.VXPU_LIVE_RECHECK_S)
            everyone = list(self.connections)
            for first in range(0, len(everyone), AT_ONCE):
                await self._judge(everyone[first : first + AT_ONCE])

    async def _judge(self, connections: Sequence[Connection]) -> None:
        try:
            asked = [connection.credential for connection in connections]
            found = await in_database(connections[0].find_principals, asked)
        except DATABASE_AWAY:
            log.warning("The database is away; %d connections cannot be judged", len(connections), exc_info=True)
            for connection in connections:
                connection.doubt()
        else:
            for connection in connections:
                await connection.judge(found.get(connection.credential))

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            for connection in tuple(self.connections):
                connection.ping()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)


class _Control:
    """What services say to the sockets' processes themselves."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def hear(self, message: bytes) -> None:
        told = json.loads(message)
        if "user" in told:
            self._live.look_again(told["user"])
        self._live.lose(told.get("lost", ()))

    def come_back(self) -> None:
        """`Live` sees to it."""

    def go_away(self) -> None:
        """`Live` sees to it."""


_lives: WeakKeyDictionary[asyncio.AbstractEventLoop, Live] = WeakKeyDictionary()


def live() -> Live:
    """The running loop's, started."""
    loop = asyncio.get_running_loop()
    found = _lives.get(loop)
    if found is None:
        found = _lives[loop] = Live(bus())
    found.start()
    return found
