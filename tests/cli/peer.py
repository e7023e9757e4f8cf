"""A tiny HTTP server with the dialect of the API (JSON, problem+json, Retry-After); it keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

DROP = object()
"""As an answer: take the request, then break the connection without a word."""


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: Any


@dataclass
class Peer:
    """`answers[("GET", "/offers")]` is a queue; its last answer stays for all later requests."""

    answers: dict[tuple[str, str], deque[tuple[int, Any, dict[str, str]]]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    url: str = ""

    def on(self, method: str, path: str, document: Any, *, status: int = 200, **headers: str) -> Peer:
        shown = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers.setdefault((method, "/api/v1" + path), deque()).append((status, document, shown))
        return self

    def problem(self, method: str, path: str, status: int, code: str, **members: Any) -> Peer:
        document = {"type": "about:blank", "status": status, "code": code, **members}
        return self.on(method, path, document, status=status)

    def bodies(self, method: str, path: str) -> list[Any]:
        return [each.body for each in self.asked if (each.method, each.path) == (method, "/api/v1" + path)]

    def keys(self) -> list[str]:
        return [each.headers.get("idempotency-key", "") for each in self.asked if each.method == "POST"]

    def take(self, asked: Asked) -> tuple[int, Any, dict[str, str]]:
        self.asked.append(asked)
        queue = self.answers.get((asked.method, asked.path))
        if queue is None:
            return 404, {"status": 404, "code": "not_found", "title": "There is no such object."}, {}
        return queue.popleft() if len(queue) > 1 else queue[0]


class Handler(BaseHTTPRequestHandler):
    peer: Peer
    protocol_version = "HTTP/1.1"

    def handle_any(self) -> None:
        parts = urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, parts.path, parse_qs(parts.query), headers, json.loads(raw) if raw else None)
        status, document, extra = self.peer.take(asked)
        if document is DROP:
            self.close_connection = True
            return
        kind = "application/json" if status < 400 else "application/problem+json"
        text = isinstance(document, str)
        data = document.encode() if text else json.dumps(document).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "text/csv" if text else kind,
            "Content-Length": str(len(data)),
            **extra,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815  # the names that http.server calls

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name is http.server's
        """The requests are in `peer.asked`."""


def start(peer: Peer) -> ThreadingHTTPServer:
    handler = type("BoundHandler", (Handler,), {"peer": peer})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    peer.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    return server
