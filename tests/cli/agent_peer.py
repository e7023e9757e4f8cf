"""The agent's side of the exec protocol without a slice: starts the program as a plain child of the test."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class AgentPeer:
    """`refuse` answers with that code instead; `platform` ends each run so; `vanish` drops the line after the start."""

    path: Path
    refuse: str = ""
    platform: str = ""
    vanish: bool = False
    requests: list[dict[str, Any]] = field(default_factory=list)
    signals: list[int] = field(default_factory=list)

    def start(self) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.path))
        listener.listen()
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return listener

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        data, descriptors, _, _ = socket.recv_fds(connection, 65536, 3)
        while not data.endswith(b"\n"):
            data += connection.recv(65536)
        request = json.loads(data)
        self.requests.append(request)
        if self.refuse:
            self._say(connection, {"type": "refused", "code": self.refuse, "detail": "not here"})
        else:
            self._run(connection, request, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        connection.close()

    def _run(self, connection: socket.socket, request: dict[str, Any], descriptors: list[int]) -> None:
        stdin, stdout, stderr = descriptors
        environment = {"PATH": os.environ["PATH"], **request["env"]}
        child = subprocess.Popen(
            request["argv"], stdin=stdin, stdout=stdout, stderr=stderr, env=environment, start_new_session=True
        )
        self._say(connection, {"type": "started", "lease_id": "lse_x", "isolation": "limiter-strict"})
        if self.vanish:
            child.kill()
            child.wait()
            return
        threading.Thread(target=self._relay, args=(connection, child), daemon=True).start()
        code = child.wait()
        shown = code if code >= 0 else 128 - code
        self._say(connection, {"type": "ended", "code": shown, "platform": self.platform})

    def _relay(self, connection: socket.socket, child: subprocess.Popen[bytes]) -> None:
        with contextlib.suppress(OSError, ProcessLookupError):
            for line in connection.makefile():
                number = int(json.loads(line)["signal"])
                self.signals.append(number)
                os.killpg(child.pid, signal.Signals(number))

    @staticmethod
    def _say(connection: socket.socket, message: dict[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError):
            connection.sendall(json.dumps(message).encode() + b"\n")
