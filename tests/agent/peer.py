"""A server that speaks the wire: enough of a market to drive one real agent. It checks all that it is sent."""

from __future__ import annotations

import base64
import gzip
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import TypeAdapter
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from agent.credential import public_text
from vxpu.slices import Slice
from vxpu.wire import node
from vxpu.wire.usage import SIGNATURE_HEADER, UsageAnswer, UsageEvent, UsageResult, UsageStatus

_FRAMES: TypeAdapter[Any] = TypeAdapter(node.FromAgent)
_EVENTS = TypeAdapter(list[UsageEvent])


@dataclass
class Peer:
    """`clock_ahead_s` is how far its clock is ahead of this machine's; `usage_status` answers POSTs of usage."""

    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    clock_ahead_s: float = 0
    window_s: int = 1
    authority_s: int = 25
    usage_status: int = 200
    is_silent: bool = False
    leases: dict[str, node.DesiredLease] = field(default_factory=dict)
    syncs: list[node.Sync] = field(default_factory=list)
    frames: list[Any] = field(default_factory=list)
    posts: list[list[str]] = field(default_factory=list)
    events: dict[str, UsageEvent] = field(default_factory=dict)
    node_keys: list[Ed25519PublicKey] = field(default_factory=list)
    sockets: list[ServerConnection] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    http_port: int = 0
    socket_port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http_port}"

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.clock_ahead_s)

    def want(self, lease_id: str = "lse_a", **over: Any) -> node.DesiredLease:
        """Put a lease into the desired state (or change it) and poke."""
        old = self.leases.get(lease_id)
        values: dict[str, Any] = old.model_dump() if old else {
            "lease_id": lease_id, "token": 1, "version": 1, "wanted": "ready", "device_key": "",
            "slice": Slice(memory_mib=64, share_permille=200), "starts_at": self.now(), "ends_at": None,
        }  # fmt: skip
        device_key = values["device_key"] or self.syncs[-1].devices[0].key
        self.leases[lease_id] = node.DesiredLease(**{**values, "device_key": device_key, **over})
        self.poke()
        return self.leases[lease_id]

    def drop(self, lease_id: str = "lse_a") -> None:
        del self.leases[lease_id]
        self.poke()

    def poke(self) -> None:
        for socket in list(self.sockets):
            with suppress(ConnectionClosed):
                socket.send(node.Poke().model_dump_json())

    def lease_token(self, lease_id: str = "lse_a", *, fence: int = 1, expires_in_s: int = 300, **over: Any) -> str:
        claims = {"aud": node.LEASE_TOKEN_AUDIENCE, "sub": lease_id, "fence": fence,
                  "exp": int(self.now().timestamp()) + expires_in_s, **over}  # fmt: skip
        return jwt.encode(claims, self.key, algorithm="EdDSA")

    def report(self, lease_id: str = "lse_a") -> node.LeaseReport | None:
        """What the agent said last of a lease."""
        said = (report for sync in reversed(self.syncs) for report in sync.leases if report.lease_id == lease_id)
        return next(said, None)

    def told_events(self, lease_id: str = "lse_a") -> list[str]:
        return [event for sync in self.syncs for report in sync.leases if report.lease_id == lease_id
                for event in report.events]  # fmt: skip

    def check_token(self, header: str | None) -> None:
        token = (header or "").removeprefix("Bearer ")
        claims = jwt.decode(
            token, self.node_keys[-1], algorithms=["EdDSA"], audience=node.NODE_TOKEN_AUDIENCE,
            options={"verify_exp": False, "verify_iat": False, "require": ["iss", "exp", "jti"]},
        )  # fmt: skip
        ahead = claims["exp"] - self.now().timestamp()
        if not -10 <= ahead <= 130:
            raise ValueError(f"the token expires {ahead:.0f} s ahead")

    def answer(self, connection: ServerConnection) -> None:
        """One agent's socket, until it closes."""
        try:
            self.check_token(connection.request.headers.get("Authorization") if connection.request else None)
        except (ValueError, jwt.InvalidTokenError) as error:
            self.refusals.append(str(error))
            connection.close(4401)
            return
        self.sockets.append(connection)
        try:
            for raw in connection:
                frame = _FRAMES.validate_json(raw)
                self.frames.append(frame)
                if isinstance(frame, node.Sync) and not self.is_silent:
                    self.syncs.append(frame)
                    connection.send(self.desired(frame.seq).model_dump_json())
        except ConnectionClosed:
            return
        finally:
            self.sockets.remove(connection)

    def desired(self, seq: int) -> node.Desired:
        return node.Desired(
            answers_seq=seq, sent_at=self.now(), heartbeat_s=1, authority_s=self.authority_s, window_s=self.window_s,
            grace_s=1, leases=list(self.leases.values()),
        )  # fmt: skip

    def post(self, path: str, body: bytes, headers: Any) -> tuple[int, bytes]:
        if path == node.ENROL_PATH:
            return self._enrol(node.Enrol.model_validate_json(body))
        self.check_token(headers["Authorization"])
        if path == node.ROTATE_PATH:
            raw = base64.b64decode(node.Rotate.model_validate_json(body).public_key)
            self.node_keys.append(Ed25519PublicKey.from_public_bytes(raw))
            return 200, b"{}"
        if self.usage_status != 200:
            return self.usage_status, b"{}"
        self.node_keys[-1].verify(base64.b64decode(headers[SIGNATURE_HEADER]), body)
        return 200, self._take_usage(gzip.decompress(body)).model_dump_json().encode()

    def _enrol(self, message: node.Enrol) -> tuple[int, bytes]:
        if message.one_time_token != "vxe_once":
            return 403, b'{"code": "bad_enrolment"}'
        self.node_keys.append(Ed25519PublicKey.from_public_bytes(base64.b64decode(message.public_key)))
        socket_url = f"ws://127.0.0.1:{self.socket_port}{node.SOCKET_PATH}"
        given = node.Enrolled(node_id="nod_test", server_public_key=public_text(self.key), socket_url=socket_url)
        return 201, given.model_dump_json().encode()

    def _take_usage(self, raw: bytes) -> UsageAnswer:
        batch = _EVENTS.validate_json(raw)
        self.posts.append([event.id for event in batch])
        results = []
        for event, text in zip(batch, json.loads(raw), strict=True):
            known = self.events.setdefault(event.id, event)
            status = UsageStatus.ACCEPTED if known is event else UsageStatus.DUPLICATE
            results.append(UsageResult(id=text["id"], status=status if known == event else UsageStatus.CONFLICT))
        return UsageAnswer(results=results)


@contextmanager
def running_peer(**over: Any) -> Iterator[Peer]:
    """A peer on two loopback ports."""
    peer = Peer(**over)

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(200)
            self.end_headers()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, answer = peer.post(self.path, body, self.headers)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(answer)

        def date_time_string(self, timestamp: float | None = None) -> str:
            return super().date_time_string((timestamp or time.time()) + peer.clock_ahead_s)

        def log_message(self, *args: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http, serve(peer.answer, "127.0.0.1", 0) as socket:
        peer.http_port, peer.socket_port = http.server_address[1], socket.socket.getsockname()[1]
        threads = [threading.Thread(target=server.serve_forever, daemon=True) for server in (http, socket)]
        for thread in threads:
            thread.start()
        yield peer
        http.shutdown()
        socket.shutdown()
        for thread in threads:
            thread.join()
