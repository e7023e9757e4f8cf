"""Suspend and resume of slices of cards: off the card where the driver can, by the gate where it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.checkpoint import CHECKPOINTED, LOCKED, RUNNING, Driver, NoCheckpoint, main, resume, suspend
from tests.agent.bench import wait_for
from tests.agent.card_node import CardNode, card_node


@dataclass
class StateMachine(Driver):
    """Processes as the driver's manual has them: each step only from the state before it; `fails` says which refuse."""

    states: dict[int, int]
    fails: set[tuple[str, int]] = field(default_factory=set)

    def state(self, pid: int) -> int | None:
        return self.states.get(pid)

    def lock(self, pid: int, timeout_ms: int) -> None:
        assert timeout_ms > 0
        self._step("lock", pid, RUNNING, LOCKED)

    def checkpoint(self, pid: int) -> None:
        self._step("checkpoint", pid, LOCKED, CHECKPOINTED)

    def restore(self, pid: int) -> None:
        self._step("restore", pid, CHECKPOINTED, LOCKED)

    def unlock(self, pid: int) -> None:
        self._step("unlock", pid, LOCKED, RUNNING)

    def _step(self, what: str, pid: int, before: int, after: int) -> None:
        if (what, pid) in self.fails or self.states[pid] != before:
            raise NoCheckpoint(f"{what} refused")
        self.states[pid] = after


def test_all_are_locked_before_the_first_is_taken_off() -> None:
    driver = StateMachine({1: RUNNING, 2: RUNNING})
    answer = suspend(driver, [1, 2, 3], timeout_ms=100)  # 3 is no CUDA process
    assert (answer.done, answer.pids) == (True, [1, 2])
    assert driver.states == {1: CHECKPOINTED, 2: CHECKPOINTED}
    assert resume(driver, [1, 2, 3]).pids == [1, 2]
    assert driver.states == {1: RUNNING, 2: RUNNING}


@pytest.mark.parametrize(("what", "pid"), [("lock", 1), ("lock", 2), ("checkpoint", 1), ("checkpoint", 2)])
def test_a_refusal_at_any_step_leaves_everything_running(what: str, pid: int) -> None:
    driver = StateMachine({1: RUNNING, 2: RUNNING}, {(what, pid)})
    answer = suspend(driver, [1, 2], timeout_ms=100)
    assert (answer.done, answer.undone, answer.pids) == (False, True, [])
    assert f"process {pid}: {what} refused" in answer.why
    assert driver.states == {1: RUNNING, 2: RUNNING}


def test_a_step_back_that_fails_is_said_and_does_not_keep_the_others() -> None:
    driver = StateMachine({1: RUNNING, 2: RUNNING, 3: RUNNING}, {("checkpoint", 3), ("restore", 1)})
    answer = suspend(driver, [1, 2, 3], timeout_ms=100)
    assert (answer.done, answer.undone) == (False, False)
    assert driver.states == {1: CHECKPOINTED, 2: RUNNING, 3: RUNNING}


def test_what_does_not_come_back_yet_is_asked_again() -> None:
    driver = StateMachine({1: CHECKPOINTED, 2: CHECKPOINTED}, {("restore", 2)})
    assert not resume(driver, [1, 2]).done
    driver.fails.clear()
    assert resume(driver, [1, 2]).done
    assert driver.states == {1: RUNNING, 2: RUNNING}


def test_without_a_driver_it_is_refused_with_the_reason_and_nothing_is_to_come_back() -> None:
    asked = main(["suspend", "100", "1"])
    assert not asked.done
    assert "no driver" in asked.why
    assert main(["resume", "100", "1"]).done


# ---- on a node ----


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CardNode]:
    with card_node(tmp_path_factory.mktemp("suspend") / "node") as made:
        yield made


def ask(node: CardNode, lease_id: str, wanted: str) -> None:
    lease = node.agent.peer.leases[lease_id]
    node.agent.peer.want(lease_id, wanted=wanted, version=lease.version + 1)


def test_a_suspended_slice_gives_its_memory_back_and_gets_it_again(node: CardNode) -> None:
    node.make("lse_a")
    program = node.client("lse_a", 400)
    held = node.used_mib()
    assert held >= 700
    ask(node, "lse_a", "suspended")
    assert "off the card: 1 process(es), 7" in node.wait_event("suspended:", "lse_a")
    assert node.used_mib() <= held - 700
    node.agent.wait_state("suspended", "lse_a")
    ask(node, "lse_a", "ready")
    assert "1 process(es) put back" in node.wait_event("resumed:", "lse_a")
    node.agent.wait_state("ready", "lse_a")
    wait_for(lambda: node.used_mib() >= held - 1, what="its memory is there again")
    assert program.poll() is None
    assert node.limits("lse_a").device[0].pause == 0


def test_where_the_driver_refuses_the_gate_holds_and_the_memory_stays(node: CardNode) -> None:
    node.make("lse_b")
    node.client("lse_b", 100)
    held = node.used_mib()
    node.cards.set(**{"fail.cuCheckpointProcessCheckpoint": 801})
    ask(node, "lse_b", "suspended")
    event = node.wait_event("suspended:", "lse_b")
    assert "by the gate, memory stays on the card" in event
    assert "shares memory" in event
    assert (node.used_mib(), node.limits("lse_b").device[0].pause) == (held, 1)
    ask(node, "lse_b", "ready")
    node.agent.wait_state("ready", "lse_b")
    wait_for(lambda: node.limits("lse_b").device[0].pause == 0, what="its gate opens")


def test_a_suspended_slice_outlives_its_agent_and_comes_back_by_another(node: CardNode) -> None:
    node.make("lse_c")
    program = node.client("lse_c", 200)
    ask(node, "lse_c", "suspended")
    node.wait_event("suspended:", "lse_c")
    node.agent.kill()
    node.restart()
    ask(node, "lse_c", "ready")
    assert "1 process(es) put back" in node.wait_event("resumed:", "lse_c")
    assert program.poll() is None


def test_a_suspended_slice_ends_like_any_other(node: CardNode) -> None:
    node.make("lse_d")
    program = node.client("lse_d", 200)
    ask(node, "lse_d", "suspended")
    node.wait_event("suspended:", "lse_d")
    before = node.used_mib()
    node.agent.peer.drop("lse_d")
    node.agent.wait_state("gone", "lse_d")
    assert program.wait(20) != 0
    assert node.used_mib() <= before
    assert not (node.agent.config.run_dir / "slices" / "lse_d").exists()


def test_memory_that_is_anothers_by_now_keeps_it_suspended_until_there_is_room(tmp_path: Path) -> None:
    with card_node(tmp_path / "node", memory_mib=1600) as node:
        node.make("lse_a", memory_mib=1000)
        node.make("lse_b", memory_mib=1500)
        sleeper = node.client("lse_a", 500)
        ask(node, "lse_a", "suspended")
        node.wait_event("suspended:", "lse_a")
        squatter = node.client("lse_b", 900)
        ask(node, "lse_a", "ready")
        assert "no room" in node.wait_event("resume_failed", "lse_a")
        report = node.agent.peer.report("lse_a")
        assert report is not None
        assert (report.state, node.limits("lse_a").device[0].pause) == ("suspended", 1)
        squatter.kill()
        assert "1 process(es) put back" in node.wait_event("resumed:", "lse_a")
        node.agent.wait_state("ready", "lse_a")
        assert sleeper.poll() is None
