"""`python -m config.stack up` as another process, and a way to find whatever belongs to its folder."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from config.server_home import free_port
from config.stack import clean
from tests.config.starters import ROOT


@contextlib.contextmanager
def var_folder() -> Iterator[Path]:
    """A data folder that the servers' account reaches (pytest's own are 0700); nothing is left of it."""
    top = Path(tempfile.mkdtemp(prefix="vxpu-stack-"))
    top.chmod(0o755)
    try:
        yield top
    finally:
        clean(top)


def environment() -> dict[str, str]:
    """This process's own without what pytest added, on ports of its own."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("DJANGO_", "VXPU_", "PYTEST_"))}
    return kept | {"VXPU_WEB_PORT": str(free_port()), "VXPU_SOCKET_PORT": str(free_port())}


class Launcher:
    """One launcher; `lines` are what it has shown so far."""

    def __init__(self, var: Path, *more: str) -> None:
        self.var = var
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "config.stack", "up", "--var", str(var), *more],
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def read_until(self, words: str) -> str:
        """The first line with `words`; fails with everything shown if the launcher ends before."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if words in line:
                return line
        raise AssertionError(f"no {words!r} in:\n{''.join(self.lines)}")

    def state(self) -> dict[str, Any]:
        return dict(json.loads((self.var / "run/stack.json").read_text()))

    def signal(self, number: int) -> int:
        """Send a signal and wait for the end; the exit status."""
        self.process.send_signal(number)
        status = self.process.wait(60)
        assert self.process.stdout is not None
        self.lines.extend(self.process.stdout)
        self.process.stdout.close()
        return status


@contextlib.contextmanager
def launched(var: Path, *more: str) -> Iterator[Launcher]:
    launcher = Launcher(var, *more)
    try:
        yield launcher
    finally:
        if launcher.process.poll() is None:
            launcher.signal(signal.SIGKILL)


def processes_of(var: Path) -> list[str]:
    """The command lines of all processes that run on this folder or were told of it."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            told = process.environ().get("VXPU_VAR") == str(var)
            if told or any(word.startswith(str(var)) for word in process.cmdline()):
                found.append(f"{process.pid} {' '.join(process.cmdline())[:200]}")
    return found
