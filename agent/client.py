"""The only network of the agent: one WebSocket that it dials and holds, and HTTPS POSTs for usage.

Reconnects with jittered back-off that stays well below the authority, so that one lost connection closes no gate.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import random
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Protocol

import httpx
from pydantic import TypeAdapter, ValidationError
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from agent.clock import ServerClock
from agent.config import agent_version
from agent.credential import Credential, NotEnrolled
from vxpu.wire import WIRE_VERSION
from vxpu.wire.node import (
    USAGE_PATH,
    Desired,
    FromServer,
    Hello,
    Poke,
    Refused,
    RemoteExec,
    RemoteExit,
    RemoteHangup,
    RemoteOutput,
    RemoteSignal,
    RemoteStarted,
    RemoteTaken,
    Samples,
    Sync,
    Watch,
)
from vxpu.wire.usage import SIGNATURE_HEADER, UsageAnswer

ToProgram = RemoteExec | RemoteSignal | RemoteTaken | RemoteHangup
FromProgram = RemoteStarted | RemoteOutput | RemoteExit
_FROM_SERVER: TypeAdapter[Desired | Poke | Refused | Watch | ToProgram] = TypeAdapter(FromServer)
FIRST_WAIT_S = 0.25
LONGEST_WAIT_S = 5.0
OPEN_S = 8.0
CLOSE_REFUSED = {4401, 4403}  # the server accepts first, for only an open socket can carry a code
FRAME_BYTES = 8 << 20
SECOND_NS = 1_000_000_000


class Host(Protocol):
    """What the connection asks of the daemon."""

    def make_sync(self, seq: int) -> Sync: ...

    def on_desired(self, desired: Desired, *, sent_mono_ns: int | None, received_mono_ns: int) -> None: ...

    def on_exec(self, order: ToProgram, send: Callable[[FromProgram], None]) -> None: ...

    def on_watch(self, order: Watch, send: Callable[[Samples], None]) -> None: ...

    def on_disconnect(self) -> None: ...


@dataclass(slots=True)
class Session:
    """One connection: what was sent and when, so that an answer tells how old the word is."""

    socket: ClientConnection
    sent: dict[int, int] = field(default_factory=dict)
    outbox: asyncio.Queue[str] = field(default_factory=asyncio.Queue)


class Link:
    """Keeps the connection; `wake` asks for a Sync now."""

    def __init__(self, credential: Credential, clock: ServerClock, host: Host, *, boot: str) -> None:
        self.credential = credential
        self.clock = clock
        self.host = host
        self.boot = boot
        self.wake = asyncio.Event()
        self.heartbeat_s = 5.0
        self.is_connected = False
        self.trouble = ""
        self._seq = 0
        self._doubts_time = False

    async def run(self) -> None:
        """Until cancelled. Every failure of the network ends here and is tried again."""
        failures = 0
        while True:
            started = time.monotonic()
            try:
                await self._learn_time()
                await self._hold()
            except (OSError, WebSocketException, httpx.HTTPError, TimeoutError) as error:
                self._note(error)
            self.is_connected = False
            failures = 0 if time.monotonic() - started > self.heartbeat_s else failures + 1
            most = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(failures, 6))
            await asyncio.sleep(random.uniform(FIRST_WAIT_S / 2, most))  # noqa: S311 - spreads reconnects, hides nothing

    def _note(self, error: Exception) -> None:
        refused = isinstance(error, InvalidStatus) and error.response.status_code in {401, 403}
        refused |= isinstance(error, ConnectionClosed) and error.rcvd is not None and error.rcvd.code in CLOSE_REFUSED
        if refused and self.credential.take_next():
            sys.stderr.write("link: refused with the old key; a rotation had been cut short, the new key is used now\n")
        if refused:
            self._doubts_time = True  # perhaps the token was out of time
        if str(error) != self.trouble:
            self.trouble = str(error)
            sys.stderr.write(f"link: {type(error).__name__}: {error}\n")

    async def _learn_time(self) -> None:
        """A node whose clock is off by minutes cannot even sign in: the Date of any answer tells it the server's."""
        enrolment = self.credential.enrolment
        if enrolment is None or (self.clock.anchor is not None and not self._doubts_time):
            return
        async with httpx.AsyncClient(timeout=OPEN_S) as http:
            sent = time.monotonic_ns()
            answer = await http.head(enrolment.server)
            received = time.monotonic_ns()
        if "Date" in answer.headers:
            seconds = parsedate_to_datetime(answer.headers["Date"]).timestamp()
            # The header has whole seconds, rounded down: widen the round trip by one.
            server_ns = int(seconds) * SECOND_NS
            self.clock.observe(server_ns=server_ns, sent_mono_ns=sent - SECOND_NS, received_mono_ns=received)
            self._doubts_time = False

    async def _hold(self) -> None:
        enrolment = self.credential.enrolment
        if enrolment is None:
            raise NotEnrolled("this node is not enrolled")
        now_s = self.clock.now_ns(time.monotonic_ns()) // SECOND_NS
        async with connect(
            enrolment.socket_url, additional_headers=self.credential.authorization(now_s=now_s),
            open_timeout=OPEN_S, close_timeout=1, max_size=FRAME_BYTES, proxy=None,
            ping_interval=None,  # every heartbeat is answered, and silence ends the connection below
        ) as socket:  # fmt: skip
            session = Session(socket)
            hello = Hello(wire_version=WIRE_VERSION, agent_version=agent_version(), boot_id=self.boot)
            await socket.send(hello.model_dump_json())
            self.is_connected, self.trouble = True, ""
            self.wake.set()
            try:
                await _first_to_fail(self._beat(session), self._send(session), self._listen(session))
            finally:
                self.host.on_disconnect()

    async def _beat(self, session: Session) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.wake.wait(), self.heartbeat_s)
            self.wake.clear()
            self._seq += 1
            text = self.host.make_sync(self._seq).model_dump_json()
            session.sent[self._seq] = time.monotonic_ns()
            session.outbox.put_nowait(text)

    async def _send(self, session: Session) -> None:
        while True:
            await session.socket.send(await session.outbox.get())

    async def _listen(self, session: Session) -> None:
        loop = asyncio.get_running_loop()

        def send(frame: FromProgram) -> None:
            loop.call_soon_threadsafe(session.outbox.put_nowait, frame.model_dump_json())

        def send_if_idle(samples: Samples) -> None:
            if session.outbox.empty():  # figures never stand before a heartbeat that waits already
                session.outbox.put_nowait(samples.model_dump_json())

        while True:
            frame = await asyncio.wait_for(session.socket.recv(), 3 * self.heartbeat_s)
            received = time.monotonic_ns()
            try:
                message = _FROM_SERVER.validate_json(frame)
            except ValidationError:  # a kind of frame that this version does not know
                continue
            match message:
                case Desired():
                    self._take(session, message, received)
                case Poke():
                    self.wake.set()
                case Refused():
                    sys.stderr.write(f"link: the server refused a frame: {message.code}: {message.detail}\n")
                case Watch():
                    self.host.on_watch(message, send_if_idle)
                case _:
                    self.host.on_exec(message, send)

    def _take(self, session: Session, desired: Desired, received: int) -> None:
        sent = session.sent.get(desired.answers_seq)
        for seq in [seq for seq in session.sent if seq <= desired.answers_seq]:
            del session.sent[seq]
        self.heartbeat_s = desired.heartbeat_s
        self.host.on_desired(desired, sent_mono_ns=sent, received_mono_ns=received)


async def _first_to_fail(*work: Coroutine[None, None, None]) -> None:
    """Run all until one ends, end the others, raise what it raised."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def post_usage(
    http: httpx.AsyncClient, credential: Credential, events: list[tuple[str, str]], *, now_s: int
) -> set[str]:
    """Post a batch of events (id, text as spooled); the ids that the server has taken charge of.

    The signature is over the bytes as sent, after compression. Raises httpx.HTTPError, ValueError.
    """
    enrolment = credential.enrolment
    if enrolment is None or not events:
        return set()
    body = gzip.compress(("[" + ",".join(text for _, text in events) + "]").encode(), 5)
    answer = await http.post(
        enrolment.server.rstrip("/") + USAGE_PATH, content=body,
        headers={"Content-Type": "application/json", "Content-Encoding": "gzip",
                 SIGNATURE_HEADER: credential.sign(body), **credential.authorization(now_s=now_s)},
    )  # fmt: skip
    answer.raise_for_status()
    results = UsageAnswer.model_validate_json(answer.content).results
    return {result.id for result in results} & {identity for identity, _ in events}
