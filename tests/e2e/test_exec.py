"""`vxpu exec` and `vxpu logs` on the real stack: through REST, Valkey, both sockets and the agent into a slice."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from config.demo.cast import Tenant
from config.programs import ROOT
from config.stack import Stack

pytestmark = [pytest.mark.stack, pytest.mark.native, pytest.mark.timeout(180)]
ReadyLease = Callable[..., dict[str, Any]]
COUNT = 4_000_000


class Vxpu:
    """The command on a machine that is not the node: it knows no agent's socket."""

    def __init__(self, server: str, token: str) -> None:
        self.env = {"PATH": os.environ["PATH"], "TERM": "dumb", "NO_COLOR": "1", "VXPU_SERVER": server,
                    "VXPU_TOKEN": token}  # fmt: skip

    def __call__(self, *args: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "cli", *args]
        return subprocess.run(argv, env=self.env, cwd=ROOT, capture_output=True, text=True, check=False)

    def start(self, *args: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "cli", *args]
        return subprocess.Popen(argv, env=self.env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def vxpu(stack: Stack, tenant: Tenant) -> Vxpu:
    return Vxpu(stack.urls["web"], tenant.member.token)


@pytest.fixture
def lease(ready_lease: ReadyLease) -> str:
    return str(ready_lease()["lease"]["id"])


def test_a_program_runs_from_anywhere_and_its_output_is_read_again(vxpu: Vxpu, lease: str) -> None:
    script = "id -u; echo $VXPU_LEASE $WORD; echo oops >&2; exit 7"
    ran = vxpu("exec", lease, "-e", "WORD=hi", "--", "sh", "-c", script)
    uid, named = ran.stdout.splitlines()
    assert (ran.returncode, named, ran.stderr) == (7, f"{lease} hi", "oops\n")
    assert 61000 <= int(uid) <= 64999
    again = vxpu("logs", lease)
    assert (again.returncode, again.stdout, again.stderr) == (0, ran.stdout, "oops\n")
    (row,) = json.loads(vxpu("logs", lease, "--list", "-o", "json").stdout)
    assert (row["running"], row["code"], row["argv"]) == (False, 7, ["sh", "-c", script])


def test_a_slow_reader_gets_every_byte(vxpu: Vxpu, lease: str) -> None:
    program = f"import sys; sys.stdout.write(''.join(str(n % 10) for n in range({COUNT})))"
    run = vxpu.start("exec", lease, "--", "python", "-c", program)
    assert run.stdout is not None
    time.sleep(3)
    digest = hashlib.sha256(run.stdout.read().encode()).hexdigest()
    assert (run.wait(60), run.communicate()[1]) == (0, "")
    assert digest == hashlib.sha256(("0123456789" * (COUNT // 10)).encode()).hexdigest()
    kept = vxpu("logs", lease)
    assert "output_truncated" in kept.stderr
    assert 200_000 < len(kept.stdout) < 600_000


def test_a_signal_reaches_it_and_a_killed_caller_ends_it(vxpu: Vxpu, lease: str) -> None:
    script = "trap 'echo saved; exit 5' TERM; echo up; while :; do sleep 0.1; done"
    for number, code in ((signal.SIGTERM, 5), (signal.SIGKILL, -9)):
        run = vxpu.start("exec", lease, "--", "sh", "-c", script)
        assert run.stdout is not None
        assert run.stdout.readline() == "up\n"
        run.send_signal(number)
        run.communicate(timeout=30)
        assert run.returncode == code
        for _ in range(100):
            if vxpu("logs", lease).stdout == "up\nsaved\n":
                break
            time.sleep(0.1)
        assert vxpu("logs", lease).stdout == "up\nsaved\n"


def test_its_lease_ends_it(vxpu: Vxpu, ready_lease: ReadyLease) -> None:
    short = ready_lease(seconds=10)["lease"]["id"]
    assert vxpu("exec", short, "--", "sleep", "60").returncode == 75
    assert vxpu("exec", short, "--", "true").returncode == 72


def test_a_killed_agent_is_a_lost_node(vxpu: Vxpu, stack: Stack, lease: str) -> None:
    run = vxpu.start("exec", lease, "--", "sh", "-c", "echo up; sleep 60")
    assert run.stdout is not None
    assert run.stdout.readline() == "up\n"
    stack.kill9("agent")
    assert run.communicate(timeout=60)[1].count("node_lost") == 1
    assert run.returncode == 76
    stack.wait_healthy("agent")
    assert vxpu("exec", lease, "--", "true").returncode == 0
