"""The addresses of the WebSockets, and what may be watched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, Scope
from django.urls import path, re_path
from django.utils import timezone

from allocator.live import hub
from allocator.live import websocket_urlpatterns as _nodes_and_execs
from allocator.live.topics import TOPICS as FLEET
from identity import facade as identity
from marketplace.live import TOPICS as MARKET
from plumbing.api.errors import CONTENT_TYPE, no_such_address
from plumbing.live.bus import bus
from plumbing.live.consumer import LiveConsumer
from plumbing.live.credentials import Credential
from plumbing.live.live import live
from plumbing.live.topics import Topics
from plumbing.principal import Principal
from vxpu.wire.live import LIVE_PATH

__all__ = ["TOPICS", "lifespan", "websocket_urlpatterns"]

TOPICS = Topics([*FLEET, *MARKET])


def find_principals(credentials: Collection[Credential]) -> dict[Credential, Principal]:
    """Who still holds which, with the rights of now."""
    asked = [(one.kind, one.id) for one in credentials]
    found = identity.principals_of_credentials(credentials=asked, now=timezone.now())
    return {one: found[one.kind, one.id] for one in credentials if (one.kind, one.id) in found}


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
            live()
        else:
            await live().stop()
            await hub().stop()
            await bus().stop()
        await answers[message["type"]]()
        if message["type"] == "lifespan.shutdown":
            return


async def _nowhere(scope: Any, receive: Any, send: Any) -> None:
    """Any other address: the problem document where the server can say more than "closed" (uvicorn can)."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close"})
        return
    headers = [(b"content-type", CONTENT_TYPE.encode())]
    await send({"type": "websocket.http.response.start", "status": 404, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": no_such_address()})
    await asyncio.sleep(0)  # uvicorn takes the handshake for unfinished until the connection is closed


# Django's types know views only; an ASGI route takes an ASGI application.
_watchers: Any = LiveConsumer.as_asgi(topics=TOPICS, find_principals=find_principals)
_fallback: Any = _nowhere
websocket_urlpatterns = [*_nodes_and_execs, path(LIVE_PATH.lstrip("/"), _watchers), re_path("", _fallback)]
