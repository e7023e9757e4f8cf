"""What happens before and beside Django's own handling of a request."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest

from config.asgi import application as sockets
from config.wsgi import application as web


@pytest.mark.parametrize("codec", ["zip", "rot13", "punycode", "undefined", "utf-16"])
def test_a_charset_chooses_no_codec(codec: str) -> None:
    environ: dict[str, Any] = {"PATH_INFO": "/api/errors", "QUERY_STRING": "a=b", "HTTP_HOST": "localhost"}
    environ["CONTENT_TYPE"] = f"application/json; charset={codec}"
    setup_testing_defaults(environ)
    said: list[str] = []
    answer: Any = lambda status, _: said.append(status)  # noqa: E731
    web(environ, answer)
    assert said == ["200 OK"]


@pytest.mark.parametrize("extension", ["websocket.http.response", "other"])
def test_a_socket_at_no_address_is_refused(extension: str) -> None:
    said: list[dict[str, Any]] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        said.append(message)

    scope: Any = {"type": "websocket", "path": "/nope", "headers": [], "extensions": {extension: {}}}
    asyncio.run(sockets(scope, receive, send))
    if extension == "other":
        assert said == [{"type": "websocket.close"}]
    else:
        assert (said[0]["status"], json.loads(said[1]["body"])["code"]) == (404, "not_found")
