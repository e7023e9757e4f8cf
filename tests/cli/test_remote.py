"""`vxpu exec` and `vxpu logs` against peers that speak the REST dialect and the stream."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator

import pytest
from websockets.sync.server import ServerConnection

from tests.cli.conftest import Command
from tests.cli.peer import Peer
from tests.cli.stream_peer import STARTED, StreamPeer, output, running_stream

EXEC = "/leases/lse_1/execs"
ROW = {
    "id": "exe_2", "argv": ["sh", "-c", "echo hi"], "created_at": "2026-12-01T00:00:00Z", "running": False,
    "ended_at": "2026-12-01T00:00:01Z", "code": 0, "platform": "",
}  # fmt: skip


@pytest.fixture
def stream(peer: Peer) -> Iterator[StreamPeer]:
    with running_stream() as found:
        made = {"id": "exe_1", "ticket": "vxx_t", "stream_url": found.url, "expires_at": "2026-12-01T00:00:00Z"}
        peer.on("POST", EXEC, made, status=201)
        yield found


def ended(code: int, platform: str = "") -> dict[str, object]:
    return {"type": "ended", "code": code, "platform": platform}


def test_streams_and_code_come_back_as_they_are(vxpu: Command, peer: Peer, stream: StreamPeer) -> None:
    stream.play = lambda it, socket: it.tell(socket, STARTED, output(b"a\n"), output(b"oops\n", "stderr"), ended(7))
    ran = vxpu("exec", "lse_1", "-e", "A=1", "--", "sh", "-c", "exit 7")
    assert (ran.returncode, ran.stdout, ran.stderr) == (7, "a\n", "oops\n")
    assert stream.tickets == ["Bearer vxx_t"]
    (body,) = peer.bodies("POST", EXEC)
    assert body == {"argv": ["sh", "-c", "exit 7"], "env": {"A": "1", "TERM": "dumb", "NO_COLOR": "1"}}


def test_each_output_is_acknowledged_when_it_is_out(vxpu: Command, stream: StreamPeer) -> None:
    def play(it: StreamPeer, socket: ServerConnection) -> None:
        it.tell(socket, STARTED)
        for _ in range(20):
            it.tell(socket, output(b"x" * 65_536))
            it.hear(socket, wanted="taken")
        it.tell(socket, ended(0))

    stream.play = play
    assert vxpu("exec", "lse_1", "--", "flood").stdout == "x" * 65_536 * 20


@pytest.mark.parametrize(("last", "code", "word"), [
    (ended(125, "node_lost"), 76, "node_lost"), (ended(143, "released"), 75, "released"),
    (ended(125, "unavailable"), 78, "unavailable"),
    ({"type": "refused", "code": "not_found", "detail": "gone"}, 71, "not_found"),
    ({"type": "refused", "code": "no_such_program", "detail": "x"}, 72, "no_such_program"),
])  # fmt: skip
def test_the_platforms_ends_have_their_codes(
    vxpu: Command, stream: StreamPeer, last: dict[str, object], code: int, word: str
) -> None:
    stream.play = lambda it, socket: it.tell(socket, last)
    ran = vxpu("exec", "lse_1", "--", "true")
    assert ran.returncode == code
    assert word in ran.stderr


@pytest.mark.parametrize(("close", "word"), [(4401, "ticket"), (1000, "broke"), (1013, "come again")])
def test_a_stream_that_breaks_is_an_unavailable_server(
    vxpu: Command, stream: StreamPeer, close: int, word: str
) -> None:
    stream.play = lambda _, socket: socket.close(close)
    ran = vxpu("exec", "lse_1", "--", "true")
    assert ran.returncode == 78
    assert word in ran.stderr


def test_an_address_that_does_not_answer_is_said(vxpu: Command, peer: Peer) -> None:
    peer.on("POST", EXEC, {"ticket": "t", "stream_url": "ws://127.0.0.1:9/x"}, status=201)
    ran = vxpu("exec", "lse_1", "--", "true")
    assert ran.returncode == 78
    assert "ws://127.0.0.1:9/x does not answer" in ran.stderr


@pytest.mark.parametrize(("status", "code", "wanted"), [
    (404, "not_found", 71), (409, "lease_not_ready", 72), (409, "too_many_execs", 72), (503, "exec_unavailable", 78),
])  # fmt: skip
def test_what_the_door_refuses_has_its_code(vxpu: Command, peer: Peer, status: int, code: str, wanted: int) -> None:
    peer.on("POST", EXEC, {"status": status, "code": code, "title": "No."}, status=status, Retry_After="0")
    ran = vxpu("exec", "lse_1", "--", "true")
    assert (ran.returncode, f"({code})" in ran.stderr) == (wanted, True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_sent_on(vxpu: Command, stream: StreamPeer, number: signal.Signals) -> None:
    def play(it: StreamPeer, socket: ServerConnection) -> None:
        it.tell(socket, STARTED, output(b"up\n"))
        it.tell(socket, ended(128 + it.hear(socket, wanted="signal")["signal"]))

    stream.play = play
    run = vxpu.start("exec", "lse_1", "--", "sleep", "60")
    assert run.stdout is not None
    assert run.stdout.readline() == "up\n"
    run.send_signal(number)
    run.communicate(timeout=20)
    assert run.returncode == 128 + number


def hear_on(it: StreamPeer, socket: ServerConnection) -> None:
    it.tell(socket, STARTED, output(b"up\n"))
    it.hear(socket, wanted="nothing")


def test_the_third_interrupt_lets_the_caller_go(vxpu: Command, stream: StreamPeer) -> None:
    stream.play = hear_on
    run = vxpu.start("exec", "lse_1", "--", "sleep", "60")
    assert run.stdout is not None
    assert run.stdout.readline() == "up\n"
    for count in range(1, 4):
        run.send_signal(signal.SIGINT)
        while count < 3 and [frame["type"] for frame in stream.said].count("signal") < count:
            assert run.poll() is None
    said = run.communicate(timeout=20)[1]
    assert (run.returncode, "you left" in said) == (130, True)


def test_a_gap_is_said(vxpu: Command, stream: StreamPeer) -> None:
    stream.play = lambda it, socket: it.tell(socket, STARTED, {"type": "truncated"}, output(b"z\n"), ended(0))
    ran = vxpu("exec", "lse_1", "--", "flood")
    assert (ran.returncode, ran.stdout) == (0, "z\n")
    assert "output_truncated" in ran.stderr


def test_logs_are_written_to_the_streams_they_came_from(vxpu: Command, peer: Peer) -> None:
    log = {"exec": ROW, "truncated": True, "output": [output(b"a\xff\n"), output(b"oops\n", "stderr")]}
    peer.on("GET", EXEC, {"items": [ROW, {**ROW, "id": "exe_1"}]}).on("GET", f"{EXEC}/exe_2", log)
    ran = vxpu("logs", "lse_1", "-o", "json")
    assert json.loads(ran.stdout) == log
    peer.on("GET", f"{EXEC}/exe_9", {**log, "output": [output(b"a\n"), output(b"oops\n", "stderr")]})
    ran = vxpu("logs", "lse_1", "exe_9")
    assert (ran.returncode, ran.stdout) == (0, "a\n")
    assert ran.stderr.splitlines() == ["vxpu: output_truncated: the beginning is not kept any more", "oops"]


def test_what_is_kept_is_listed(vxpu: Command, peer: Peer) -> None:
    peer.on("GET", EXEC, {"items": [ROW]})
    assert "sh -c 'echo hi'" in vxpu("logs", "lse_1", "--list").stdout
    assert vxpu("logs", "lse_1", "--list", "-o", "name").stdout == "exe_2\n"


def test_nothing_kept_is_not_found(vxpu: Command, peer: Peer) -> None:
    peer.on("GET", EXEC, {"items": []})
    assert vxpu("logs", "lse_1").returncode == 7
