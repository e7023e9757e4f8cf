"""The client's end of the exec protocol against a peer that sends exactly what a test says."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from cli.errors import CliError, NodeLost
from cli.execution import Agent, AgentRefused, run_in_slice
from vxpu.wire.exec import ExecEnded

STARTED = {"type": "started", "lease_id": "lse_1", "isolation": "limiter-strict", "news": "from a newer agent"}
ENDED = {"type": "ended", "code": 4}


class Script:
    """Reads one request, then sends the given pieces as they are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pieces: list[bytes] = []
        self.request = b""
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def says(self, *pieces: bytes) -> str:
        self.pieces = list(pieces)
        self.thread.start()
        return str(self.path)

    def _serve(self) -> None:
        connection, _ = self.listener.accept()
        with connection:
            while not self.request.endswith(b"\n"):
                self.request += connection.recv(65536)
            for piece in self.pieces:
                connection.sendall(piece)


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Script]:
    script = Script(tmp_path / "agent.sock")
    yield script
    if script.thread.ident is not None:
        script.thread.join(5)
    script.listener.close()


def run(path: str, argv: list[str] | None = None) -> ExecEnded:
    agent = Agent.connect(path)
    try:
        return run_in_slice(agent, lease_token="t", argv=argv or ["true"], env={}, cwd="/")
    finally:
        agent.close()


def line(message: Mapping[str, object]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def test_messages_may_come_in_any_pieces(script: Script) -> None:
    whole = line(STARTED) + line(ENDED)
    assert run(script.says(*(whole[index : index + 1] for index in range(len(whole))))).code == 4


def test_a_long_command_line_arrives_whole(script: Script) -> None:
    argv = ["echo", *("x" * 1000 for _ in range(600))]
    run(script.says(line(STARTED), line(ENDED)), argv)
    assert json.loads(script.request)["argv"] == argv


def test_a_refusal_is_an_error_with_its_code(script: Script) -> None:
    with pytest.raises(AgentRefused) as raised:
        run(script.says(line({"type": "refused", "code": "superseded", "detail": "another token"})))
    assert (raised.value.code, raised.value.exit_code) == ("superseded", 12)


@pytest.mark.parametrize("said", [(), (line(STARTED),), (line(STARTED), b'{"type": "en')])
def test_an_end_of_the_line_before_the_end_is_a_lost_node(script: Script, said: tuple[bytes, ...]) -> None:
    with pytest.raises(NodeLost, match="before the program's end"):
        run(script.says(*said))


@pytest.mark.parametrize("said", [b"hello\n", b"{}\n", b'{"type": "ended"}\n'])
def test_what_is_not_of_the_protocol_is_said(script: Script, said: bytes) -> None:
    with pytest.raises(CliError, match="not of the protocol"):
        run(script.says(said))


def test_a_line_without_an_end_is_not_kept_for_ever(script: Script) -> None:
    with pytest.raises(CliError, match="too long"):
        run(script.says(b"x" * 200_000))
