"""A node without a daemon: an enforcer of this machine, and programs run in its slices."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent.config import Config
from agent.doorway import base_environment
from agent.enforce.launcher import Launcher
from agent.enforce.port import Enforcer, Holder, SliceSpec
from vxpu.wire.exec import ExecRequest


def wait_for(condition: Callable[[], Any], *, seconds: float = 30, what: str = "it") -> Any:
    """The first true answer of `condition`; fails the test after `seconds`."""
    until = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < until, f"{what} did not happen in {seconds} s"
        time.sleep(0.02)
    return answer


def make_config(folder: Path, **over: Any) -> Config:
    values: dict[str, Any] = {"server": "http://127.0.0.1:1", "state_dir": folder / "state", "run_dir": folder / "run"}
    values |= {"library": folder / "no-library"}
    return Config(**{**values, **over})


def make_spec(**over: Any) -> SliceSpec:
    values: dict[str, Any] = {"lease_id": "lse_a", "token": 1, "uid": 64101, "memory_mib": 64, "share_permille": 200}
    return SliceSpec(**{**values, "compute_units": len(os.sched_getaffinity(0)), **over})


@dataclass
class Program:
    """A program in a slice: its client's end, and a pipe with all that it prints."""

    client: socket.socket
    output: int
    messages: list[dict[str, Any]] = field(default_factory=list)

    def wait_started(self) -> dict[str, Any]:
        return self._next()

    def wait(self) -> tuple[int, str]:
        """(exit code, what it printed); a refusal is (-1, its code)."""
        while not self.messages or self.messages[-1]["type"] == "started":
            self._next()
        last = self.messages[-1]
        text = self._printed()
        self.leave()
        return (-1, str(last["code"])) if last["type"] == "refused" else (int(last["code"]), text)

    def leave(self) -> None:
        """The client dies."""
        self.client.close()
        if self.output >= 0:
            os.close(self.output)
            self.output = -1

    def _printed(self) -> str:
        os.set_blocking(self.output, False)
        parts = []
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self.output, 65536):
                parts.append(part)
        return b"".join(parts).decode()

    def send(self, message: dict[str, Any]) -> None:
        self.client.sendall(json.dumps(message).encode() + b"\n")

    def _next(self) -> dict[str, Any]:
        data = b""
        while not data.endswith(b"\n"):
            part = self.client.recv(1)
            assert part, f"the shim left without a word after {self.messages}"
            data += part
        self.messages.append(json.loads(data))
        return self.messages[-1]


@dataclass
class Bench:
    """One enforcer and what was made with it."""

    enforcer: Enforcer
    config: Config
    made: dict[str, tuple[SliceSpec, Holder]] = field(default_factory=dict)
    started: list[Program] = field(default_factory=list)

    def make(self, **over: Any) -> SliceSpec:
        spec = make_spec(**over)
        self.made[spec.lease_id] = (spec, self.enforcer.prepare(spec, None))
        return spec

    def start(self, spec: SliceSpec, *argv: str, cwd: str = "", stdin: int | None = None) -> Program:
        ours, theirs = socket.socketpair()
        ours.settimeout(30)
        reader, writer = os.pipe()
        null = os.open("/dev/null", os.O_RDONLY) if stdin is None else os.dup(stdin)
        home = "/home/slice" if self.enforcer.has_namespaces else str(self.config.run_dir)
        program = {
            "request": ExecRequest(lease_token="-", argv=list(argv), cwd=cwd).model_dump(),
            "environment": {**base_environment(), "HOME": home},
            "grace_s": 1,
        }
        with theirs:
            _, holder = self.made[spec.lease_id]
            self.enforcer.start(spec, holder, program, [null, writer, writer, theirs.fileno()])
        for descriptor in (null, writer):
            os.close(descriptor)
        self.started.append(Program(ours, reader))
        return self.started[-1]

    def run(self, spec: SliceSpec, *argv: str) -> tuple[int, str]:
        return self.start(spec, *argv).wait()

    def shell(self, spec: SliceSpec, script: str) -> tuple[int, str]:
        return self.run(spec, "/bin/sh", "-c", script)

    def python(self, spec: SliceSpec, code: str) -> tuple[int, str]:
        return self.run(spec, sys.executable, "-c", code)

    def programs(self, spec: SliceSpec) -> list[int]:
        """Host pids in the slice, its own first process left out."""
        _, holder = self.made[spec.lease_id]
        return [pid for pid in self.enforcer.processes(spec) if pid != holder.pid]

    def end(self, spec: SliceSpec) -> None:
        self.enforcer.terminate(spec, reason="released")
        self.enforcer.kill(spec)
        assert self.enforcer.remove(spec)
        del self.made[spec.lease_id]


def open_bench(folder: Path, opener: Callable[[Config, Launcher], Enforcer], **over: Any) -> Iterator[Bench]:
    config = make_config(folder, **over)
    config.state_dir.mkdir(parents=True)
    (config.run_dir / "slices").mkdir(parents=True)
    bench = Bench(opener(config, Launcher()), config)
    yield bench
    for spec, _ in list(bench.made.values()):
        bench.end(spec)
    for program in bench.started:
        program.leave()
    bench.enforcer.shut_down()


def host_pid_of(marker: str) -> int | None:
    """The process whose command line has `marker`, as the host sees it."""
    found = subprocess.run(["pgrep", "-f", marker], capture_output=True, text=True, check=False).stdout.split()
    return int(found[0]) if found else None


def skip_unless_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: slices of other uids, cgroups")
