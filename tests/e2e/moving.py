"""Two real agents on one stack, a program that can go on elsewhere, and a move of its lease from one to the other."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from config.demo.cast import Tenant
from config.demo.guests import Guest
from config.demo.rest import Api
from config.demo.stage import iso, wait_until
from config.programs import AgentHome
from config.stack import Stack

OTHER = "agent-b"
# On both devices the share is the greater part of the price: see `docs/billing.md`.
SHARE, MIB = 100, 150
UNDER_WAY = ("planned", "preparing", "ready", "hooking")


class Shelf(ThreadingHTTPServer):
    """Keeps one number for programs that move. `slow_s` is how long a hook has to wait for its answer."""

    daemon_threads = True
    saved: int = 0
    slow_s: float = 0.0


class _Door(BaseHTTPRequestHandler):
    server: Shelf

    def do_GET(self) -> None:
        self._answer(str(self.server.saved).encode())

    def do_PUT(self) -> None:
        word = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.server.slow_s)
        self.server.saved = int(word)
        self._answer(b"")

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on the screen."""


@contextmanager
def shelf() -> Iterator[Shelf]:
    with Shelf(("127.0.0.1", 0), _Door) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@dataclass
class Trip:
    """One reservation with its program, on whichever of the two nodes it was placed."""

    stack: Stack
    operator: Api
    tenant: Tenant
    shelf: Shelf
    nodes: dict[str, AgentHome]
    reservation: str = ""
    guests: list[Guest] = field(default_factory=list)

    def begin(self) -> None:
        size = {"memory_mib": MIB, "share_permille": SHARE}
        body = {"project": self.tenant.project, "slice": size, "ends_at": iso(int(time.time()) + 3600)}
        self.reservation = self.tenant.member.post("reservations", body)["id"]
        self.await_row(lambda row: row["lease"] is not None and row["lease"]["state"] == "ready", what="it is ready")
        self.start_program()

    @property
    def row(self) -> dict[str, Any]:
        return dict(self.tenant.member.get(f"reservations/{self.reservation}"))

    @property
    def lease(self) -> dict[str, Any]:
        return dict(self.tenant.member.get(f"leases/{self.row['lease']['id']}"))

    def home(self, node: str) -> AgentHome:
        return self.nodes[node]

    def other(self, node: str) -> str:
        (found,) = self.nodes.keys() - {node}
        return found

    def await_row(self, done: Callable[[dict[str, Any]], bool], *, what: str) -> dict[str, Any]:
        return wait_until(lambda: self.row, done, what=what, timeout_s=40)

    def start_program(self) -> Guest:
        """In the lease that the reservation has now, by that node's door, which may be coming back just now."""
        lease = self.lease
        door = self.home(lease["node"]).socket
        wait_until(lambda: _answers(door), bool, what="the agent answers", timeout_s=40)
        guest = Guest.start(
            "resumable", "--store", f"http://127.0.0.1:{self.shelf.server_port}", lease=lease["id"],
            token=self.tenant.member.token, site=self.stack.urls["web"], socket=door,
        )  # fmt: skip
        self.guests.append(guest)
        guest.wait_steady()
        return guest

    def moves(self) -> list[dict[str, Any]]:
        """Of this reservation's leases, oldest first."""
        mine = {lease["id"] for lease in self.leases()}
        plans = [self.operator.get(f"move-plans/{plan['id']}") for plan in self.operator.rows("move-plans")]
        return [move for plan in reversed(plans) for move in plan["moves"] if move["lease"] in mine]

    def leases(self) -> list[dict[str, Any]]:
        """Every lease that the reservation ever had: the tenant has no other one."""
        return self.tenant.member.rows("leases")

    def await_move(self, *states: str) -> dict[str, Any]:
        return wait_until(
            lambda: self.moves()[-1] if self.moves() else {"state": ""}, lambda move: move["state"] in states,
            what=f"the move is {states}", timeout_s=150,
        )  # fmt: skip

    def end(self) -> None:
        for guest in self.guests:
            guest.stop()
        self.tenant.member.post(f"reservations/{self.reservation}/release")
        self.await_row(lambda row: row["lease"]["state"] in ("gone", "lost"), what="it is over")


def _answers(door: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(door)) == 0


def seconds(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())
