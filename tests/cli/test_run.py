"""`vxpu run` against an agent peer that starts real children with the descriptors it was handed."""

from __future__ import annotations

import signal
import subprocess

import pytest

from tests.cli.agent_peer import AgentPeer
from tests.cli.conftest import Command
from tests.cli.peer import Peer

BOUGHT = {"id": "rsv_1", "state": "active", "lease": {"id": "lse_1", "state": "ready"}}
WAITING = {"id": "rsv_1", "state": "queued", "lease": None}


@pytest.fixture(autouse=True)
def lease(peer: Peer) -> None:
    peer.on("POST", "/leases/lse_1/token", {"token": "ey.lease.token"})


def wait_for_line(run: subprocess.Popen[str]) -> str:
    assert run.stdout is not None
    return run.stdout.readline()


def test_the_program_has_the_callers_own_streams_and_code(vxpu: Command, agent: AgentPeer) -> None:
    ran = vxpu("run", "--lease", "lse_1", "--", "sh", "-c", "read x; echo got $x; echo oops >&2; exit 7", stdin="hi\n")
    assert (ran.returncode, ran.stdout, ran.stderr) == (7, "got hi\n", "oops\n")
    assert agent.requests[0]["lease_token"] == "ey.lease.token"
    assert agent.requests[0]["argv"][0] == "sh"


def test_only_what_is_named_leaves_the_environment(vxpu: Command, agent: AgentPeer) -> None:
    vxpu("run", "--lease", "lse_1", "-e", "A=1", "-e", "SECRET", "--", "true", SECRET="x")
    assert agent.requests[0]["env"] == {"A": "1", "SECRET": "x", "TERM": "dumb", "NO_COLOR": "1"}
    assert vxpu("run", "--lease", "lse_1", "-e", "UNSET", "--", "true").returncode == 2


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_reach_the_program(vxpu: Command, agent: AgentPeer, number: signal.Signals, code: int) -> None:
    run = vxpu.start("run", "--lease", "lse_1", "--", "sh", "-c", "echo up; exec sleep 30")
    assert wait_for_line(run) == "up\n"
    run.send_signal(number)
    run.communicate(timeout=10)
    assert (run.returncode, agent.signals) == (code, [number])


def test_a_program_may_handle_the_signal_itself(vxpu: Command, agent: AgentPeer) -> None:
    script = "trap 'echo saved; exit 5' TERM; echo up; while :; do sleep 0.05; done"
    run = vxpu.start("run", "--lease", "lse_1", "--", "sh", "-c", script)
    assert wait_for_line(run) == "up\n"
    run.terminate()
    assert (run.communicate(timeout=10)[0], run.returncode) == ("saved\n", 5)


def test_too_long_a_run_is_ended_and_said(vxpu: Command, agent: AgentPeer) -> None:
    ran = vxpu("run", "--lease", "lse_1", "--max-time", "1s", "--", "sleep", "30")
    assert (ran.returncode, agent.signals) == (75, [signal.SIGTERM])


@pytest.mark.parametrize(
    ("platform", "code"), [("expired", 75), ("preempted", 74), ("node_lost", 76), ("released", 75), ("odd", 65)]
)
def test_an_end_by_the_platform_has_its_own_code(vxpu: Command, agent: AgentPeer, platform: str, code: int) -> None:
    agent.platform = platform
    ran = vxpu("run", "--lease", "lse_1", "--", "true")
    assert ran.returncode == code
    assert platform in ran.stderr


def test_an_agent_that_dies_is_a_lost_node(vxpu: Command, agent: AgentPeer) -> None:
    agent.vanish = True
    assert vxpu("run", "--lease", "lse_1", "--", "sleep", "30").returncode == 76


def test_no_agent_here_says_where_to_run(vxpu: Command) -> None:
    ran = vxpu("run", "--lease", "lse_1", "--", "true")
    assert ran.returncode == 76
    assert "VXPU_AGENT_SOCKET" in ran.stderr


def test_a_refusal_keeps_its_reason(vxpu: Command, agent: AgentPeer) -> None:
    agent.refuse = "bad_token"
    ran = vxpu("run", "--lease", "lse_1", "--", "true")
    assert (ran.returncode, "not here (bad_token)" in ran.stderr) == (69, True)


def test_a_bought_slice_is_waited_for_used_and_given_back(vxpu: Command, peer: Peer, agent: AgentPeer) -> None:
    peer.on("POST", "/reservations", WAITING, status=202)
    peer.on("GET", "/reservations/rsv_1", WAITING).on("GET", "/reservations/rsv_1", BOUGHT)
    peer.on("POST", "/reservations/rsv_1/release", BOUGHT)
    ran = vxpu("run", "-m", "1GiB", "-c", "25%", "-p", "prj_1", "--wait", "30s", "--", "sh", "-c", "exit 3")
    assert ran.returncode == 3
    body = peer.bodies("POST", "/reservations")[0]
    assert (body["queue"], body["slice"]) == (True, {"memory_mib": 1024, "share_permille": 250})
    assert body["ends_at"] is not None
    assert peer.asked[-1].path == "/api/v1/reservations/rsv_1/release"


def test_no_room_is_told_apart_from_a_program_that_returns_three(vxpu: Command, peer: Peer, agent: AgentPeer) -> None:
    peer.problem("POST", "/reservations", 409, "no_capacity", title="No room.")
    assert vxpu("run", "-m", "1GiB", "-c", "25%", "-p", "prj_1", "--", "true").returncode == 67
    assert agent.requests == []


def test_a_cancelled_wait_gives_the_slice_back(vxpu: Command, peer: Peer) -> None:
    peer.on("POST", "/reservations", WAITING, status=202).on("GET", "/reservations/rsv_1", WAITING)
    peer.on("POST", "/reservations/rsv_1/release", BOUGHT)
    run = vxpu.start("run", "-m", "1GiB", "-c", "25%", "-p", "prj_1", "--wait", "30s", "--", "true")
    assert run.stderr is not None
    assert "queued" in run.stderr.readline()
    run.terminate()
    run.communicate(timeout=10)
    assert (run.returncode, peer.asked[-1].path) == (143, "/api/v1/reservations/rsv_1/release")


def test_a_lease_and_a_slice_at_once_is_a_mistake(vxpu: Command) -> None:
    assert vxpu("run", "--lease", "lse_1", "-m", "1GiB", "--", "true").returncode == 2
    assert vxpu("run", "--", "true").returncode == 2
