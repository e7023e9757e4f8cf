"""Real agents as processes of their own, against the peer."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.config import Config
from agent.enforce.cgroup import NoCgroups, find_home
from tests.agent.bench import wait_for
from tests.agent.peer import Peer, running_peer

ROOT = Path(__file__).parents[2]


@dataclass
class Agent:
    """One node: its folders stay over restarts."""

    peer: Peer
    folder: Path
    mode: str = "auto"
    process: subprocess.Popen[bytes] | None = None
    programs: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def config(self) -> Config:
        return Config(
            server=self.peer.url, state_dir=self.folder / "state", run_dir=self.folder / "run",
            token_file=self.folder / "token", library=self.folder / "no-library", mode=self.mode,
        )  # fmt: skip

    def start(self, *options: str) -> None:
        config = self.config
        self._launch("agent", "run", "--server", config.server, "--token-file", str(config.token_file), "--state-dir",
                     str(config.state_dir), "--run-dir", str(config.run_dir), "--library", str(config.library),
                     "--mode", self.mode, *options)  # fmt: skip

    def start_to_crash(self, point: str) -> None:
        config = self.config
        values = {"server": config.server, "state_dir": str(config.state_dir), "run_dir": str(config.run_dir),
                  "token_file": str(config.token_file), "library": str(config.library), "mode": self.mode}  # fmt: skip
        self._launch("tests.agent.crashing", point, json.dumps(values))

    def _launch(self, *argv: str) -> None:
        assert self.process is None or self.process.poll() is not None
        with (self.folder / "agent.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *argv], cwd=ROOT, stderr=log, env={**os.environ, "PYTHONWARNINGS": "error"}
            )

    def has_ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def kill(self) -> None:
        self.signal(signal.SIGKILL)

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)
        self.process.wait(40)

    def wait_crashed(self) -> None:
        assert self.process is not None
        assert self.process.wait(60) == -signal.SIGKILL, self.said()

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.config.state_dir / "status.json").read_text())
        return found

    def said(self) -> str:
        return (self.folder / "agent.log").read_text()

    def group(self, lease_id: str = "lse_a") -> Any:
        return find_home(self.config.cgroup_name).slice(lease_id)

    def wait_state(self, state: str, lease_id: str = "lse_a", *, seconds: float = 40) -> None:
        def reached() -> bool:
            report = self.peer.report(lease_id)
            return report is not None and report.state == state

        wait_for(reached, seconds=seconds, what=f"{lease_id} is {state}: {self.said()[-600:]}")

    def burn(self, seconds: int = 60, lease_id: str = "lse_a") -> subprocess.Popen[str]:
        """`vxpu run` of a program that takes all the CPU it gets."""
        code = f"import time\nprint('up', flush=True)\nt=time.time()\nwhile time.time()-t<{seconds}: pass"
        fence = self.peer.leases[lease_id].token
        return run_in(self, lease_id, sys.executable, "-c", code, token=self.peer.lease_token(lease_id, fence=fence))

    def clean_up(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()
        for program in self.programs:
            program.kill()
            program.__exit__(None, None, None)  # closes its pipes and waits
        with contextlib.suppress(NoCgroups):
            home = find_home(self.config.cgroup_name)
            for name in home.names():
                home.slice(name).kill()
                home.slice(name).remove()
            home.close()
        for line in Path("/proc/self/mounts").read_text().splitlines():
            if line.split()[1].startswith(str(self.folder)):
                subprocess.run(["umount", "--lazy", line.split()[1]], check=True)


CLIENT = """
import sys
from cli.execution import Agent, run_in_slice
with_cwd = sys.argv[3]
agent = Agent.connect(sys.argv[1])
ended = run_in_slice(agent, lease_token=sys.argv[2], argv=sys.argv[4:], env={}, cwd=with_cwd)
sys.stdout.write(f"{ended.platform}")
sys.exit(ended.code)
"""


def run_in(agent: Agent, lease_id: str, *argv: str, token: str, cwd: str = "") -> subprocess.Popen[str]:
    """The command line's own client, in a process of its own."""
    program = subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(agent.config.exec_socket), token, cwd, *argv],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    agent.programs.append(program)
    return program


@contextlib.contextmanager
def running_agent(folder: Path, *options: str, mode: str = "auto", crash_at: str = "", **peer: Any) -> Iterator[Agent]:
    """A peer and an agent that has told it of its devices; `crash_at` kills the agent when it first comes there."""
    folder.mkdir(exist_ok=True)
    (folder / "token").write_text("vxe_once\n")
    with running_peer(**peer) as server:
        agent = Agent(server, folder, mode)
        try:
            if crash_at:
                agent.start_to_crash(crash_at)
            else:
                agent.start(*options)
            wait_for(lambda: server.syncs, seconds=40, what=f"the first sync: {agent.said()}")
            yield agent
        finally:
            agent.clean_up()


def settle(agent: Agent, *, seconds: float = 40) -> None:
    """Until everything that was measured has been acknowledged."""
    time.sleep(1.2)
    wait_for(lambda: agent.status()["windows_unsent"] == 0, seconds=seconds, what=f"the spool empties {agent.said()}")
