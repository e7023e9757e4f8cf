"""The server's side of a program's stream: a WebSocket that plays a script and keeps what it is told."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

STARTED = {"type": "started", "lease_id": "lse_1", "isolation": "limiter-strict"}


def output(text: bytes, stream: str = "stdout") -> dict[str, Any]:
    return {"type": "output", "stream": stream, "data": base64.b64encode(text).decode()}


@dataclass
class StreamPeer:
    """`play` is called with each connection; then the socket closes. `said` ends with "closed" when the client goes."""

    play: Callable[[StreamPeer, ServerConnection], None] = lambda *_: None
    said: list[Any] = field(default_factory=list)
    tickets: list[str] = field(default_factory=list)
    url: str = ""

    def tell(self, socket: ServerConnection, *frames: dict[str, Any]) -> None:
        for frame in frames:
            socket.send(json.dumps(frame))

    def hear(self, socket: ServerConnection, *, wanted: str) -> dict[str, Any]:
        """The next frame of a kind; raises ConnectionClosed."""
        while True:
            frame: dict[str, Any] = json.loads(socket.recv(timeout=20))
            self.said.append(frame)
            if frame["type"] == wanted:
                return frame

    def serve(self, socket: ServerConnection) -> None:
        assert socket.request is not None
        self.tickets.append(socket.request.headers.get("Authorization", ""))
        try:
            self.play(self, socket)
        except ConnectionClosed:
            self.said.append("closed")


@contextmanager
def running_stream() -> Iterator[StreamPeer]:
    peer = StreamPeer()
    with serve(peer.serve, "127.0.0.1", 0) as server:
        peer.url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}/api/v1/exec-stream"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield peer
        server.shutdown()
        thread.join()
