"""What goes past the limiter on a card: it is told and billed, ended where the operator says so, and hurts nobody."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import shm
from tests.agent.bench import wait_for
from tests.agent.card_node import CardNode, card_node

BUSY_NS = 4_000_000_000


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CardNode]:
    """A node whose slices have no limiter: what their programs do on the card has no slot."""
    with card_node(tmp_path_factory.mktemp("bare") / "node", limited=False) as node:
        yield node


def used_permille_s(node: CardNode, lease_id: str) -> int:
    events = list(node.agent.peer.events.values())
    return sum(event.data.used_permille_s or 0 for event in events if event.subject == lease_id)


def test_a_program_without_the_limiter_is_told_at_the_second_look_and_billed(bare: CardNode) -> None:
    bare.make("lse_a")
    program = bare.client("lse_a", 200, spin_ns=BUSY_NS)
    event = bare.wait_event("unregistered_use", "lse_a")  # two looks, two seconds apart
    assert "on the card" in event
    assert "MiB) without a slot" in event
    wait_for(lambda: used_permille_s(bare, "lse_a") >= 3_000, what="its time is in the windows")
    assert program.poll() is None  # by default nothing more happens to it
    peak = max(one.data.peak_mib or 0 for one in bare.agent.peer.events.values() if one.subject == "lse_a")
    assert 200 <= peak <= 1000


def test_a_short_process_is_metered_though_it_is_gone(bare: CardNode) -> None:
    bare.make("lse_b")
    program = bare.client("lse_b", 10, spin_ns=1_500_000_000)
    time.sleep(2)
    program.kill()
    wait_for(lambda: used_permille_s(bare, "lse_b") >= 1_200, what="what it had is its slice's")
    assert used_permille_s(bare, "lse_b") <= 1_900


def test_the_operator_may_have_it_killed_and_nobody_else(tmp_path: Path) -> None:
    with card_node(tmp_path / "node", "--card", "escape=kill", limited=False) as node:
        node.make("lse_a")
        node.make("lse_b", card=0)
        bystander = node.start("lse_b", "/bin/sleep", "60")
        node.client("lse_a", 200)
        assert "; killed" in node.wait_event("unregistered_use", "lse_a")
        wait_for(lambda: node.used_mib() == 0, what="its memory is back")
        assert bystander.poll() is None


def spoil(node: CardNode, lease_id: str, pid: int) -> None:
    """The guest claims another's process as its own, in a slot of its own file."""
    path = node.region(lease_id).folder / "usage"
    usage = shm.Usage.from_buffer_copy(path.read_bytes())
    usage.slot[7].state, usage.slot[7].ns_pid, usage.slot[7].start_ticks = shm.SLOT_LIVE, pid, 1
    path.write_bytes(bytes(usage))


def test_lies_in_the_usage_file_hurt_nobody(tmp_path: Path) -> None:
    with card_node(tmp_path / "node", "--card", "escape=kill") as node:
        node.make("lse_a")
        node.make("lse_b")
        honest = node.client("lse_b", 100)
        spoil(node, "lse_a", os.getpid())
        time.sleep(5)
        usage = node.region("lse_a").folder / "usage"
        usage.unlink()
        usage.symlink_to("/etc/passwd")
        assert "usage_file_damaged" in node.wait_event("usage_file_damaged", "lse_a")
        assert honest.poll() is None
        assert not node.agent.has_ended()
        assert not [event for event in node.agent.peer.told_events("lse_b") if "unregistered" in event]
        node.make("lse_c")  # the agent goes on with its work
