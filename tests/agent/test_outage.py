"""The server away, the clock wrong, the agent killed: gates close, memory stays, no window is lost or made twice."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from agent.enforce.cgroup import CgroupSample
from tests.agent.agents import Agent, running_agent, settle
from tests.agent.bench import skip_unless_root, wait_for

POINTS = (
    "slice.recorded", "slice.made", "slice.metered", "slice.ready", "spool.before_write", "spool.before_fsync",
    "spool.after_fsync", "usage.posted", "spool.acknowledged", "slice.draining", "slice.killed", "slice.settled",
    "slice.removed",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _root() -> None:
    skip_unless_root()


def assert_every_window_once(agent: Agent) -> None:
    events = sorted(agent.peer.events.values(), key=lambda event: event.data.seq)
    assert [event.data.seq for event in events] == list(range(len(events)))
    starts = [event.data.window_start for event in events]
    assert starts == sorted(set(starts))


def stopped_sample(agent: Agent) -> CgroupSample:
    """Once the kernel has stopped the last thread and written its last tick down: it may be later than the gate."""
    samples: list[CgroupSample] = [agent.group().sample()]

    def is_still() -> bool:
        time.sleep(0.1)
        samples.append(agent.group().sample())
        return samples[-1].cpu_ns == samples[-2].cpu_ns

    wait_for(is_still, seconds=10, what="the slice stands still")
    return samples[-1]


def test_a_silent_server_closes_the_gate_and_a_returning_one_opens_it(tmp_path: Path) -> None:
    with running_agent(tmp_path / "node", authority_s=3) as agent:
        agent.peer.want()
        agent.wait_state("ready")
        program = agent.burn()
        assert program.stdout is not None
        program.stdout.readline()
        agent.peer.is_silent = True
        wait_for(lambda: agent.status()["leases"]["lse_a"]["gate_closed"], seconds=30, what="the gate closes")
        stopped = stopped_sample(agent)
        time.sleep(1)
        assert agent.group().sample().cpu_ns == stopped.cpu_ns
        assert program.poll() is None
        agent.peer.is_silent = False
        wait_for(lambda: agent.group().sample().cpu_ns > stopped.cpu_ns, seconds=30, what="the gate opens")
        assert agent.peer.report() is not None
        wait_for(lambda: "gate_opened" in agent.peer.told_events(), what="it is told")
        program.kill()


def test_what_was_given_up_meanwhile_never_runs_again(tmp_path: Path) -> None:
    with running_agent(tmp_path / "node", authority_s=3) as agent:
        agent.peer.want()
        agent.wait_state("ready")
        program = agent.burn()
        assert program.stdout is not None
        program.stdout.readline()
        agent.peer.is_silent = True
        wait_for(lambda: agent.status()["leases"]["lse_a"]["gate_closed"], seconds=30, what="the gate closes")
        stopped_sample(agent)
        used_ns = agent.group().sample().cpu_ns
        del agent.peer.leases["lse_a"]
        agent.peer.is_silent = False
        agent.wait_state("gone")
        # Its last window ends with the last tick before the gate: nothing ran between there and its end.
        settle(agent)
        assert_every_window_once(agent)
        assert program.wait(20) != 0
        used = sum(event.data.used_permille_s or 0 for event in agent.peer.events.values())
        assert used <= used_ns * 1000 // 1_000_000_000 + 1000


def test_windows_wait_for_a_server_that_refuses_them(tmp_path: Path) -> None:
    with running_agent(tmp_path / "node", usage_status=503) as agent:
        agent.peer.want()
        agent.wait_state("ready")
        wait_for(lambda: agent.status()["windows_unsent"] >= 3, seconds=30, what="windows pile up")
        agent.kill()
        agent.start()
        agent.peer.usage_status = 200
        wait_for(lambda: len(agent.peer.events) >= 5, seconds=40, what="they arrive")
        assert_every_window_once(agent)


@pytest.mark.parametrize("ahead_s", [-600, 600])
def test_windows_lie_on_the_servers_grid_when_the_clocks_differ_by_ten_minutes(tmp_path: Path, ahead_s: int) -> None:
    with running_agent(tmp_path / "node", clock_ahead_s=ahead_s) as agent:
        agent.peer.want()
        agent.wait_state("ready")
        wait_for(lambda: len(agent.peer.events) >= 2, what="two windows")
        newest = max(event.data.window_start for event in agent.peer.events.values())
        assert abs((agent.peer.now() - newest).total_seconds()) < 5
        offset_ms = next(iter(agent.peer.events.values())).data.clock_offset_ms
        assert abs(offset_ms - ahead_s * 1000) < 1000
        assert agent.peer.refusals == []


def test_a_killed_agent_takes_its_running_slice_over_and_the_program_does_not_notice(tmp_path: Path) -> None:
    with running_agent(tmp_path / "node") as agent:
        agent.peer.want()
        agent.wait_state("ready")
        program = agent.burn(seconds=6)
        assert program.stdout is not None
        program.stdout.readline()
        for _ in range(2):
            agent.kill()
            time.sleep(0.5)
            agent.start()
        assert program.wait(20) == 0
        agent.peer.drop()
        agent.wait_state("gone")
        settle(agent)
        assert_every_window_once(agent)
        used = sum(event.data.used_permille_s or 0 for event in agent.peer.events.values())
        assert used >= 900


def live_a_little(agent: Agent) -> None:
    """One short life of a lease, whatever happens to the agent meanwhile."""
    agent.peer.want()
    wait_for(lambda: agent.has_ended() or agent.peer.events, seconds=40, what="a window, or the crash")
    agent.peer.drop()


@pytest.mark.parametrize("point", POINTS)
def test_kill_9_at_each_named_point_converges(tmp_path: Path, point: str) -> None:
    with running_agent(tmp_path / "node", crash_at=point) as agent:
        live_a_little(agent)
        agent.wait_crashed()
        agent.start()
        if "lse_a" not in agent.peer.leases and agent.peer.report() is None:
            agent.peer.want()
            agent.wait_state("ready")
            agent.peer.drop()
        agent.wait_state("gone")
        settle(agent)
        assert_every_window_once(agent)
        assert agent.group().processes() == []
        wait_for(lambda: not agent.group().exists(), what="nothing is left")
