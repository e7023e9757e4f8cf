"""One tab's socket: frames in, rooms joined and left, frames out through its outlet. It holds no rule of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Iterable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from pydantic import TypeAdapter, ValidationError

from plumbing.errors import DomainError, Forbidden
from plumbing.live import tickets
from plumbing.live.catch_up import catch_up
from plumbing.live.credentials import Credential, FindPrincipals
from plumbing.live.database import DATABASE_AWAY, in_scope_of, in_turn
from plumbing.live.live import HEARTBEAT_S, live
from plumbing.live.outlet import Outlet
from plumbing.live.rooms import Subscription
from plumbing.live.sockets import BAD_FRAME, FORBIDDEN, TRY_AGAIN, UNAUTHENTICATED, PlainConsumer
from plumbing.live.topics import Topics, View
from plumbing.live.valkey import VALKEY_AWAY
from plumbing.principal import Principal
from plumbing.rowsec import system_scope
from vxpu.ids import encode, new_uuid
from vxpu.wire.live import (
    LIVE_VERSION,
    FromWatcher,
    LiveHello,
    LiveRefused,
    Ping,
    Pong,
    Status,
    Subscribe,
    Unsubscribe,
    Welcome,
)

log = logging.getLogger(__name__)

NO_TICKET = 4408
TOO_MANY = 4429
MAX_FRAME = 4096
HELLO_S = 5.0
TRUST_S = 30.0
BAD_FRAMES = 10
AGAIN_S = 3.0
_FRAMES: TypeAdapter[Any] = TypeAdapter(FromWatcher)
_PING = Ping().model_dump_json()
_PONG = Pong().model_dump_json()
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def is_own_origin(origin: str) -> bool:
    """A page of ours; a client that is no browser says none. The names of this very machine are one."""
    if not origin:
        return True
    return any(_plain(origin) == _plain(own) for own in (settings.VXPU_WEB_URL, *settings.VXPU_LIVE_ORIGINS))


def _plain(address: str) -> tuple[str, str | None, int | None]:
    try:
        parts = urlsplit(address)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return "", None, None
    host = "localhost" if parts.hostname in _LOOPBACK else parts.hostname
    return parts.scheme, host, port


class LiveConsumer(PlainConsumer):
    """Closes 4401 for a credential that does not hold (any more), 4403 when a topic is allowed no longer, 4408 without
    a hello in time or with a ticket that does not hold, 4400 for frames that are none, 4429 for too many connections;
    1013 asks to come again and resume. 4401 logs a person out, so a tab that slept over its ticket must not get it.
    """

    topics: Topics
    find_principals: FindPrincipals
    credential: Credential
    principal: Principal

    def __init__(self, *, topics: Topics, find_principals: FindPrincipals) -> None:
        super().__init__()
        self.topics = topics
        self.find_principals = find_principals
        self._outlet = Outlet(self._send_text, lambda: self.end(TRY_AGAIN))
        self._subscriptions: dict[str, Subscription] = {}
        self._later: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._hello: asyncio.TimerHandle | None = None
        self._judged_at = 0.0
        self._bad_frames = 0
        self._is_in = False
        self._is_over = False

    # ---- Channels' side ----

    async def connect(self) -> None:
        if not is_own_origin(self.header("origin")):
            await self.close()  # the handshake is answered 403
            return
        await self.accept()
        self._do(self._outlet.drain())
        self._hello = asyncio.get_running_loop().call_later(HELLO_S, self.end, NO_TICKET)

    async def disconnect(self, code: int) -> None:  # noqa: ARG002 - Channels' signature
        self._leave()
        if self._is_in:
            live().open_by[self.credential.id] -= 1
            self._is_in = False
        tasks = {task for task in self._tasks if task is not asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self._is_over:
            return
        if text_data is None or bytes_data is not None or len(text_data) > MAX_FRAME:
            self._refuse("", "bad_frame", f"Frames are JSON text of at most {MAX_FRAME} bytes.")
            self._count_bad_frame()
            return
        try:
            frame = _FRAMES.validate_json(text_data)
        except ValidationError as error:
            self._refuse("", "bad_frame", str(error)[:400])
            self._count_bad_frame()
            return
        await self._take(frame)

    async def _send_text(self, text: str) -> None:
        try:
            await self.send(text_data=text)
        except OSError:  # as uvicorn says it: the client is gone, and `disconnect` comes
            self._outlet.shut()

    # ---- frames ----

    async def _take(self, frame: LiveHello | Subscribe | Unsubscribe | Ping) -> None:
        match frame:
            case LiveHello() if not self._is_in:
                await self._greet(frame)
            case _ if not self._is_in:
                self.end(NO_TICKET)
            case Subscribe():
                await self._subscribe(frame)
            case Unsubscribe():
                self._unsubscribe(frame.topic)
            case Ping():
                self._outlet.put_state(_PONG)
            case LiveHello():
                self._refuse("", "bad_frame", "You have said hello.")

    async def _greet(self, hello: LiveHello) -> None:
        if self._hello is not None:
            self._hello.cancel()
        if hello.v != LIVE_VERSION:
            self._refuse("", "wire_version", f"This server speaks version {LIVE_VERSION}.")
            return self.end(BAD_FRAME)
        try:
            found = await tickets.redeem(live().bus.valkey, "live", hello.ticket)
            if found is None:
                return self.end(NO_TICKET)
            self.credential = Credential.model_validate_json(found)
            principals = await in_turn(system_scope, lambda: self.find_principals([self.credential]))
        except (*VALKEY_AWAY, *DATABASE_AWAY):
            log.warning("Nobody can be let in now", exc_info=True)
            return self.end(TRY_AGAIN)
        if (principal := principals.get(self.credential)) is None:
            return self.end(UNAUTHENTICATED)
        if live().open_by[self.credential.id] >= settings.VXPU_LIVE_SOCKETS:
            return self.end(TOO_MANY)
        with contextlib.suppress(TimeoutError):  # a process that has just begun
            await asyncio.wait_for(live().bus.is_up.wait(), 1)
        return self._let_in(principal)

    def _let_in(self, principal: Principal) -> None:
        if self._is_over:
            return
        self.principal, self._is_in = principal, True
        self._judged_at = asyncio.get_running_loop().time()
        live().connections.add(self)
        live().open_by[self.credential.id] += 1
        session = encode("liv", new_uuid())
        self._outlet.put_state(Welcome(session=session, heartbeat_s=HEARTBEAT_S).model_dump_json())
        if not live().bus.is_up.is_set():
            self.say_status(is_live=False)

    async def _subscribe(self, asked: Subscribe) -> None:
        self._unsubscribe(asked.topic)
        if len(self._subscriptions) + len(self._later) >= settings.VXPU_LIVE_TOPICS:
            self._refuse(asked.topic, "too_many_topics", f"A connection watches {settings.VXPU_LIVE_TOPICS} at most.")
            return
        try:
            spec, parts = self.topics.find(asked.topic)
            view: View = await in_scope_of(self.principal, lambda: spec.open(self.principal, parts))
        except DomainError as error:
            self._refuse(asked.topic, error.code, error.detail)
            return
        except DATABASE_AWAY:
            self._subscribe_later(asked)
            return
        if self._is_over:
            return
        self._unsubscribe(asked.topic)
        subscription = Subscription(topic=asked.topic, spec=spec, view=view, outlet=self._outlet)
        self._subscriptions[asked.topic] = subscription
        live().join(subscription)
        await self.catch_up_again(subscription, since=asked.since)

    def _subscribe_later(self, asked: Subscribe) -> None:
        """The database is away: the snapshot comes when it is back, if the topic is wanted then."""
        log.warning("The database is away; %s waits", asked.topic)
        if not self._is_over:
            self._later[asked.topic] = asyncio.get_running_loop().call_later(AGAIN_S, self._subscribe_now, asked)

    def _subscribe_now(self, asked: Subscribe) -> None:
        self._later.pop(asked.topic, None)
        self._do(self._subscribe(asked))

    def _unsubscribe(self, topic: str) -> None:
        if (waiting := self._later.pop(topic, None)) is not None:
            waiting.cancel()
        if (subscription := self._subscriptions.pop(topic, None)) is not None:
            live().leave(subscription)
            self._outlet.forget(topic)

    def _refuse(self, topic: str, code: str, detail: str) -> None:
        self._outlet.put_state(LiveRefused(topic=topic, code=code, detail=detail).model_dump_json())

    def _count_bad_frame(self) -> None:
        self._bad_frames += 1
        if self._bad_frames >= BAD_FRAMES:
            self.end(BAD_FRAME)

    # ---- the hub's side: see `plumbing.live.live.Connection` ----

    def subscriptions(self) -> Iterable[Subscription]:
        return tuple(self._subscriptions.values())

    def say_status(self, *, is_live: bool) -> None:
        self._outlet.put_state(Status(live=is_live).model_dump_json())

    def ping(self) -> None:
        self._outlet.put_state(_PING)

    async def catch_up_again(self, subscription: Subscription, *, since: str) -> None:
        topic = subscription.topic
        try:
            await catch_up(subscription, since=since, principal=self.principal, valkey=live().bus.valkey)
        except (DomainError, *DATABASE_AWAY) as error:
            if self._subscriptions.get(topic) is not subscription:
                return
            self._unsubscribe(topic)
            if isinstance(error, DomainError):
                self._refuse(topic, error.code, error.detail)
            else:
                self._subscribe_later(Subscribe(topic=topic, since=since))

    async def judge(self, found: Principal | None) -> None:
        if self._is_over:
            return
        if found is None:
            self.end(UNAUTHENTICATED)
            return
        try:
            if found != self.principal:
                await self._judge_topics(found)
            self.principal, self._judged_at = found, asyncio.get_running_loop().time()
        except DomainError:
            self.end(FORBIDDEN)
        except DATABASE_AWAY:
            self.doubt()

    def doubt(self) -> None:
        """What was revoked meanwhile must not be served for long."""
        if asyncio.get_running_loop().time() - self._judged_at > TRUST_S:
            self.end(TRY_AGAIN)

    async def _judge_topics(self, principal: Principal) -> None:
        """Raises NotFound or Forbidden for a topic that is not this principal's to watch."""
        for subscription in self.subscriptions():
            spec, parts = self.topics.find(subscription.topic)
            view = await in_scope_of(principal, partial(spec.open, principal, parts))
            if view.feed != subscription.view.feed:
                raise Forbidden("It would be another feed now.")
            subscription.view = view

    # ---- the end ----

    def end(self, code: int) -> None:
        """Close; what waits to be sent is dropped unless the frames themselves are the reason."""
        if self._is_over:
            return
        self._leave()
        self._do(self._close(code))

    async def _close(self, code: int) -> None:
        if code == BAD_FRAME:
            await self._outlet.finish()
        self._outlet.shut()
        with contextlib.suppress(OSError):  # it was quicker
            await self.close(code=code)

    def _leave(self) -> None:
        self._is_over = True
        if self._hello is not None:
            self._hello.cancel()
        for topic in (*self._subscriptions, *self._later):
            self._unsubscribe(topic)
        if self._is_in:
            live().connections.discard(self)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
