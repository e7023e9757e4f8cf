"""A server peer, an agent peer, and the command itself as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.agent_peer import AgentPeer
from tests.cli.peer import Peer, start

ROOT = Path(__file__).parents[2]


@dataclass
class Command:
    """`vxpu(...)` in a clean environment: no COLUMNS, TERM=dumb, stdin closed unless given."""

    env: dict[str, str]

    def __call__(self, *args: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.argv(*args),
            env={**self.env, **env},
            input=stdin,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )

    def start(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.argv(*args), env=self.env, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    @staticmethod
    def argv(*args: str) -> list[str]:
        return [sys.executable, "-m", "cli", *args]


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()
    server = start(peer)
    yield peer
    server.shutdown()
    server.server_close()


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[AgentPeer]:
    agent = AgentPeer(tmp_path / "agent.sock")
    listener = agent.start()
    yield agent
    listener.close()


@pytest.fixture
def vxpu(peer: Peer, tmp_path: Path) -> Command:
    return Command(
        {
            "PATH": os.environ["PATH"],
            "TERM": "dumb",
            "NO_COLOR": "1",
            "HOME": str(tmp_path),
            "VXPU_SERVER": peer.url,
            "VXPU_TOKEN": "vxp_pat_test",
            "VXPU_AGENT_SOCKET": str(tmp_path / "agent.sock"),
        }
    )
