"""Starting guest programs with `vxpu run`, as a person at the node would, and reading what they print."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from config.programs import ROOT

STEADY_MARK = "steady"


@dataclass
class Guest:
    """One `vxpu run` in the background."""

    process: subprocess.Popen[str]
    errors: Path
    began: float = field(default_factory=time.time)
    report: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def start(cls, program: str, *args: str, lease: str, token: str, site: str, socket: Path) -> Self:
        """`python -m config.demo.programs.PROGRAM` inside a lease; the tenant's token, and no other secret."""
        environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(Path.home())}
        environment |= {"VXPU_SERVER": site, "VXPU_TOKEN": token, "VXPU_AGENT_SOCKET": str(socket)}
        return cls._launch(
            [*_vxpu(), "run", "--lease", lease, "--env", f"PYTHONPATH={ROOT}", "--",
             sys.executable, "-m", f"config.demo.programs.{program}", *args],
            environment,
        )  # fmt: skip

    @classmethod
    def start_outside(cls, program: str, *args: str) -> Self:
        """The same program with no slice around it."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return cls._launch([sys.executable, "-m", f"config.demo.programs.{program}", *args], environment)

    @classmethod
    def _launch(cls, argv: list[str], environment: dict[str, str]) -> Self:
        handle, name = tempfile.mkstemp(prefix="vxpu-guest-", suffix=".log")
        with os.fdopen(handle, "w") as errors:
            process = subprocess.Popen(
                argv,
                env=environment,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        return cls(process, Path(name))

    def wait_steady(self, timeout_s: float = 30) -> float:
        """The time (since the epoch) at which the program says that it now saturates. Raises GuestFailed."""
        until = time.monotonic() + timeout_s
        while time.monotonic() < until and self.process.poll() is None:
            if STEADY_MARK in self.said():
                return time.time()
            time.sleep(0.05)
        raise GuestFailed(f"the program did not become steady: {self.said() or self.process.poll()}")

    def said(self) -> str:
        """What it wrote to standard error so far."""
        return self.errors.read_text(errors="replace").strip()

    def finish(self, timeout_s: float = 60) -> tuple[int, dict[str, Any]]:
        """(exit code, the JSON object that it printed; empty if it printed none)."""
        try:
            out, _ = self.process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.stop()
            raise GuestFailed(f"the program did not end in {timeout_s:g} s: {self.said()}") from None
        lines = [line for line in out.splitlines() if line.startswith("{")]
        self.report = json.loads(lines[-1]) if lines else {}
        code, said = self.process.returncode, self.said()
        self.errors.unlink(missing_ok=True)
        if not self.report:
            raise GuestFailed(f"the program ended with {code} and no report: {said}")
        return code, self.report

    def stop(self) -> None:
        """SIGTERM, which `vxpu run` relays to the program; SIGKILL if that does not help."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.errors.unlink(missing_ok=True)


class GuestFailed(RuntimeError):
    """A guest program did not do what it is for."""


def _vxpu() -> list[str]:
    """The installed command when there is one, else the same from this tree."""
    installed = Path(sys.executable).with_name("vxpu")
    return [str(installed)] if installed.exists() else [sys.executable, "-m", "cli"]
