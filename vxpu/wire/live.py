"""The live socket: one WebSocket of a browser tab (or a program) at LIVE_PATH, for all that it watches.

The client opens it with `LiveHello` and the ticket of ``POST /api/v1/live-tickets`` within five seconds and gets
`Welcome`; then it subscribes to topics. Each subscription begins with one `Snapshot` (or `Resumed`), then `Delta`s come
in order, each with a `seq` greater than the one before; they are never left out. `Metrics` are: only the latest
counts. `seq` is opaque: give the last one back as `since` after a broken connection. See docs/live.md.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field

from vxpu.wire.base import Lenient, Strict

LIVE_PATH = "/api/v1/live"
LIVE_VERSION = 1


class LiveHello(Strict):
    type: Literal["hello"] = "hello"
    ticket: str = Field(max_length=200)
    v: int = LIVE_VERSION


class Subscribe(Strict):
    type: Literal["subscribe"] = "subscribe"
    topic: str = Field(max_length=200)
    since: str = Field(default="", max_length=64)


class Unsubscribe(Strict):
    type: Literal["unsubscribe"] = "unsubscribe"
    topic: str = Field(max_length=200)


class Ping(Lenient):
    """From either end; a client's is answered with `Pong`."""

    type: Literal["ping"] = "ping"


class Pong(Lenient):
    type: Literal["pong"] = "pong"


class Welcome(Lenient):
    """`session` names this connection in logs. A `Ping` comes every `heartbeat_s`; silence means a dead connection."""

    type: Literal["welcome"] = "welcome"
    session: str
    heartbeat_s: int


class Snapshot(Lenient):
    """All there is to know now. Deltas with a higher `seq` follow; some may say what the snapshot knows already."""

    type: Literal["snapshot"] = "snapshot"
    topic: str
    seq: str
    data: Any


class Resumed(Lenient):
    """In place of a snapshot: what was missed follows as deltas."""

    type: Literal["resumed"] = "resumed"
    topic: str
    seq: str


class Delta(Lenient):
    type: Literal["delta"] = "delta"
    topic: str
    seq: str
    data: Any


class Metrics(Lenient):
    """The newest figures. Earlier ones that were not sent in time were dropped."""

    type: Literal["metrics"] = "metrics"
    topic: str
    at: AwareDatetime
    data: Any


class Gap(Lenient):
    """Deltas are missing here; a new snapshot follows. Read again what hangs on them."""

    type: Literal["gap"] = "gap"
    topic: str


class LiveRefused(Lenient):
    """`topic` is "" when a frame could not be read. The connection stays, the subscription does not."""

    type: Literal["refused"] = "refused"
    topic: str
    code: str
    detail: str


class Status(Lenient):
    """Whether news reaches this process at all; when it is back each topic goes on, by deltas or a new snapshot."""

    type: Literal["status"] = "status"
    live: bool


FromWatcher = Annotated[LiveHello | Subscribe | Unsubscribe | Ping, Field(discriminator="type")]
ToWatcher = Annotated[
    Welcome | Snapshot | Resumed | Delta | Metrics | Gap | LiveRefused | Status | Ping | Pong,
    Field(discriminator="type"),
]
