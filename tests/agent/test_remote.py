"""Programs that the server asks for: their streams, signals and ends, against a real agent."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.agent.agents import Agent, running_agent
from tests.agent.bench import skip_unless_root, wait_for
from vxpu.wire.node import (
    WINDOW_FRAMES,
    RemoteExec,
    RemoteExit,
    RemoteHangup,
    RemoteOutput,
    RemoteSignal,
    RemoteStarted,
    RemoteTaken,
)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    skip_unless_root()
    with running_agent(tmp_path / "node") as found:
        found.peer.want()
        found.wait_state("ready")
        yield found


def order(agent: Agent, script: str, *, exec_id: str = "x1", **over: Any) -> None:
    token = over.pop("token", "") or agent.peer.lease_token()
    tell(agent, RemoteExec(exec_id=exec_id, lease_token=token, argv=["sh", "-c", script], **over))


def tell(agent: Agent, frame: BaseModel) -> None:
    agent.peer.sockets[-1].send(frame.model_dump_json())


def said(agent: Agent, kind: type[Any], exec_id: str = "x1") -> list[Any]:
    return [frame for frame in agent.peer.frames if isinstance(frame, kind) and frame.exec_id == exec_id]


def ended(agent: Agent, exec_id: str = "x1") -> tuple[int, str]:
    wait_for(lambda: said(agent, RemoteExit, exec_id), what="the exit comes back")
    (found,) = said(agent, RemoteExit, exec_id)
    return found.code, found.detail


def text(agent: Agent, stream: str = "stdout") -> str:
    return b"".join(
        base64.b64decode(frame.data) for frame in said(agent, RemoteOutput) if frame.stream == stream
    ).decode()


def test_it_runs_without_a_terminal_and_its_streams_are_told_apart(agent: Agent) -> None:
    order(agent, "cat; echo $WORD; echo oops >&2; exit 4", env={"WORD": "hi", "VXPU_LEASE": "other"})
    assert ended(agent) == (4, "")
    assert (text(agent), text(agent, "stderr")) == ("hi\n", "oops\n")
    kinds = [type(frame) for frame in agent.peer.frames if getattr(frame, "exec_id", "") == "x1"]
    assert (kinds[0], kinds[-1], kinds.count(RemoteStarted)) == (RemoteStarted, RemoteExit, 1)


def test_a_slow_reader_slows_it_down_and_loses_nothing(agent: Agent) -> None:
    order(agent, "head -c 1000000 /dev/zero | tr '\\0' x")
    wait_for(lambda: len(said(agent, RemoteOutput)) == WINDOW_FRAMES, what="the window is full")
    time.sleep(1)
    assert len(said(agent, RemoteOutput)) == WINDOW_FRAMES
    assert not said(agent, RemoteExit)
    taken = 0
    while not said(agent, RemoteExit):
        if fresh := len(said(agent, RemoteOutput)) - taken:
            tell(agent, RemoteTaken(exec_id="x1", frames=fresh))
            taken += fresh
        time.sleep(0.01)
    assert text(agent) == "x" * 1_000_000


def test_a_signal_reaches_it(agent: Agent) -> None:
    order(agent, "trap 'echo saved; exit 5' TERM; echo up; while :; do sleep 0.05; done")
    wait_for(lambda: text(agent) == "up\n", what="it is up")
    tell(agent, RemoteSignal(exec_id="x1", signal=15))
    assert ended(agent) == (5, "")
    assert text(agent) == "up\nsaved\n"


def test_when_nobody_waits_it_is_ended_even_if_it_will_not(agent: Agent) -> None:
    order(agent, "trap '' TERM; echo up; while :; do sleep 0.05; done")
    wait_for(lambda: text(agent) == "up\n", what="it is up")
    tell(agent, RemoteHangup(exec_id="x1"))
    assert ended(agent) == (137, "")


def test_a_lost_connection_ends_it(agent: Agent) -> None:
    order(agent, "echo up; yes")
    wait_for(lambda: said(agent, RemoteOutput), what="it is up")
    agent.peer.sockets[-1].close()
    group = agent.group()
    wait_for(lambda: len(group.processes()) <= 1, what="only process 1 of the slice is left")


def test_what_it_leaves_running_is_not_waited_for(agent: Agent) -> None:
    order(agent, "sleep 300 & echo up")
    assert ended(agent) == (0, "")
    assert text(agent) == "up\n"


@pytest.mark.parametrize(("token", "argv", "detail"), [
    ("nonsense", ["true"], "bad_token"), ("", ["no-such-program"], "no_such_program"), ("", [], "cannot_start"),
])  # fmt: skip
def test_what_cannot_start_is_said_and_never_started(agent: Agent, token: str, argv: list[str], detail: str) -> None:
    tell(agent, RemoteExec(exec_id="x1", lease_token=token or agent.peer.lease_token(), argv=argv))
    code, why = ended(agent)
    assert (code, why.partition(":")[0], said(agent, RemoteStarted)) == (126, detail, [])


def test_the_platforms_end_is_named(agent: Agent) -> None:
    order(agent, "sleep 60")
    wait_for(lambda: said(agent, RemoteStarted), what="it runs")
    agent.peer.drop()
    assert ended(agent) == (143, "released")
