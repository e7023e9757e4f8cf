"""The checkpoint hook: a real agent, a slice, and what the server hears of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from agent.reconcile import Drain
from tests.agent.agents import Agent, run_in, running_agent
from tests.agent.bench import skip_unless_root, wait_for
from tests.agent.test_reconcile import NOW, RUNNING, decided, wanted
from vxpu.wire.node import Hook, HookDone

OPERATORS = "sh -c 'echo $1 $2 $VXPU_HOOK_REASON $VXPU_LEASE > $HOME/hooked' hook"


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    skip_unless_root()
    with running_agent(tmp_path / "node", "--hook", OPERATORS) as found:
        found.peer.want()
        found.wait_state("ready")
        yield found


def ask(agent: Agent, name: str, *, seconds: float = 20) -> HookDone:
    """The agent's answer."""
    hook = Hook(id=name, reason="move", deadline=agent.peer.now() + timedelta(seconds=seconds))
    agent.peer.want(hook=hook)

    def answer() -> HookDone | None:
        report = agent.peer.report()
        return report.hook if report is not None and report.hook is not None and report.hook.id == name else None

    found: HookDone = wait_for(answer, what=f"an answer to {name}: {agent.said()[-600:]}")
    return found


def in_slice(agent: Agent, script: str) -> str:
    program = run_in(agent, "lse_a", "sh", "-c", script, token=agent.peer.lease_token())
    out, said = program.communicate(timeout=40)
    assert program.returncode == 0, said
    return str(out)


def set_own_hook(agent: Agent, script: str) -> None:
    made = "mkdir -p ~/.vxpu && rm -f ~/.vxpu/hook && cat > ~/.vxpu/hook"
    in_slice(agent, f"{made} <<'END'\n{script}\nEND")


def test_the_operators_hook_runs_in_the_slice_and_the_tenants_own_goes_before_it(agent: Agent) -> None:
    assert ask(agent, "one").result == "ok"
    assert in_slice(agent, "cat ~/hooked") == "lse_a move move lse_a\n"
    set_own_hook(agent, "echo again >> ~/mine; exit 3")
    assert ask(agent, "two") == HookDone(id="two", result="failed", detail="exit code 3")
    agent.peer.want(version=2)  # told again with the same id it is not run again
    wait_for(lambda: (agent.peer.report() or agent.peer.want()).version == 2, what="the new version")
    assert in_slice(agent, "cat ~/mine") == "again\n"
    assert "hook move: begun" in agent.peer.told_events()


def test_a_hook_that_hangs_is_ended_at_its_deadline_and_the_end_is_told_as_a_move(agent: Agent) -> None:
    set_own_hook(agent, "sleep 600")
    program = agent.burn()
    assert program.stdout is not None
    assert program.stdout.readline() == "up\n"
    assert ask(agent, "late", seconds=1).result == "timeout"
    agent.peer.want(wanted="gone")
    agent.wait_state("gone")
    assert program.wait(40) > 128
    assert program.stdout.read() == "moved"


def test_without_a_hook_there_is_nothing_to_wait_for(tmp_path: Path) -> None:
    skip_unless_root()
    with running_agent(tmp_path / "node") as agent:
        agent.peer.want()
        agent.wait_state("ready")
        assert ask(agent, "one").result == "none"


@pytest.mark.parametrize(("reason", "told"), [("move", "moved"), ("preempt", "preempted"), ("other", "released")])
def test_the_end_of_a_hooked_slice_has_its_hooks_reason(reason: str, told: str) -> None:
    gone = wanted(wanted="gone", hook=Hook(id="h", reason=reason, deadline=NOW))
    assert decided(gone, observed=(RUNNING,)) == [Drain("lse_a", told)]
