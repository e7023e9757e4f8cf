"""The daemon's side of the launcher process (launch.py)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import Any

from agent.config import ROOT
from agent.enforce.place import Place

ANSWER_S = 10.0


class LaunchFailed(RuntimeError):
    """The launcher could not make the namespaces; the text is the system's."""


class Launcher:
    """Starts the launcher on first use and again if it died. Not thread-safe: one event loop uses it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def hold(self, place: Place) -> tuple[int, int]:
        """(pid, start ticks) of process 1 of the slice's new namespaces. Raises LaunchFailed."""
        control = self._connect()
        try:
            self._send(control, {"op": "hold", "place": place.to_json()}, [])
            answer: dict[str, Any] = json.loads(control.recv(65536) or b'{"error": "the launcher died"}')
        except OSError as error:
            self.close()
            raise LaunchFailed(f"launcher: {error}") from error
        if "error" in answer:
            raise LaunchFailed(answer["error"])
        return answer["pid"], answer["start_ticks"]

    def start(self, body: dict[str, Any], descriptors: list[int]) -> None:
        """Hand a program to a shim of its own; the shim answers the client. Raises LaunchFailed."""
        try:
            self._send(self._connect(), {"op": "start", **body}, descriptors)
        except OSError as error:
            self.close()
            raise LaunchFailed(f"launcher: {error}") from error

    def close(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.wait(timeout=ANSWER_S)
            self._process = None

    def _connect(self) -> socket.socket:
        if self._control is not None and self._process is not None and self._process.poll() is None:
            return self._control
        self.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(ANSWER_S)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "agent.enforce.launch"],
                stdin=theirs.fileno(),
                cwd="/",
                env={"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": str(ROOT)},
                start_new_session=True,
            )
        self._control = ours
        return ours

    @staticmethod
    def _send(control: socket.socket, body: dict[str, Any], descriptors: list[int]) -> None:
        """The body travels in a memfd: a command line may be longer than a packet."""
        memory = os.memfd_create("vxpu-launch", os.MFD_CLOEXEC)
        try:
            os.write(memory, json.dumps(body).encode())
            socket.send_fds(control, [b"!"], [memory, *descriptors])
        finally:
            os.close(memory)
