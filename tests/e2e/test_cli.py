"""`vxpu` against the real stack: the verbs that a user of a slice needs, in pipes and without a terminal."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from config.demo.cast import Tenant
from config.programs import ROOT
from config.stack import Stack

pytestmark = [pytest.mark.stack, pytest.mark.native, pytest.mark.timeout(180)]
Vxpu = Callable[..., subprocess.CompletedProcess[str]]
ReadyLease = Callable[..., dict[str, Any]]


@pytest.fixture
def environment(stack: Stack, tenant: Tenant) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "TERM": "dumb", "NO_COLOR": "1", "VXPU_SERVER": stack.urls["web"],
        "VXPU_TOKEN": tenant.admin.token, "VXPU_AGENT_SOCKET": str(stack.layout.agent_socket),
    }  # fmt: skip


@pytest.fixture
def vxpu(environment: dict[str, str]) -> Vxpu:
    def run(*args: str, stdin: str = "", cwd: str = str(ROOT)) -> subprocess.CompletedProcess[str]:
        env = {**environment, "PYTHONPATH": str(ROOT)}
        argv = [sys.executable, "-m", "cli", *args]
        return subprocess.run(argv, env=env, cwd=cwd, input=stdin, capture_output=True, text=True, check=False)

    return run


def in_format(vxpu: Vxpu, verb: list[str], fmt: str) -> subprocess.CompletedProcess[str]:
    return vxpu(*verb, "-o", fmt)


def test_every_list_parses_in_a_pipe(vxpu: Vxpu, device: dict[str, Any], ready_lease: ReadyLease) -> None:
    bought = ready_lease()
    for verb in (["offers"], ["device", "list"], ["reserve", "list"], ["lease", "list"], ["invoice", "list"], ["cost"]):
        formats = ("json", "csv", "name")  # the others are tested where a format is made
        with ThreadPoolExecutor() as at_once:
            shown = dict(zip(formats, at_once.map(partial(in_format, vxpu, verb), formats), strict=True))
        assert {fmt: ran.stderr for fmt, ran in shown.items()} == dict.fromkeys(shown, ""), verb
        rows = json.loads(shown["json"].stdout)
        assert shown["name"].stdout.split("\n")[:-1] == [row.get("id") or row.get("kind") or "" for row in rows]
        assert len(list(csv.DictReader(io.StringIO(shown["csv"].stdout)))) == len(rows)
    assert bought["lease"]["id"] in vxpu("lease", "list").stdout
    assert bought["id"] in vxpu("reserve", "list").stdout
    assert device["id"] in vxpu("device", "list").stdout


def test_a_program_runs_in_the_callers_folder_with_its_streams(vxpu: Vxpu, ready_lease: ReadyLease) -> None:
    lease = ready_lease()["lease"]["id"]
    ran = vxpu(
        "run", "--lease", lease, "--", "sh", "-c", "cat; pwd; test -f README.md; echo $? >&2; exit 7", stdin="hi\n"
    )
    assert (ran.returncode, ran.stderr) == (7, "0\n")
    # A folder below one that is the slice's own to write, like /tmp, shows elsewhere.
    assert ran.stdout in {f"hi\n{ROOT}\n", "hi\n/workdir\n"}


def test_a_signal_reaches_the_program(environment: dict[str, str], ready_lease: ReadyLease) -> None:
    lease = ready_lease()["lease"]["id"]
    argv = [sys.executable, "-m", "cli", "run", "--lease", lease, "--", "sh", "-c",
            "trap 'echo saved; exit 5' TERM; echo up; while :; do sleep 0.1; done"]  # fmt: skip
    with subprocess.Popen(argv, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "up\n"
        run.send_signal(signal.SIGTERM)
        assert (run.stdout.read(), run.wait(20)) == ("saved\n", 5)


def test_a_slice_for_one_run_is_bought_used_and_given_back(vxpu: Vxpu, device: dict[str, Any]) -> None:
    ran = vxpu("run", "-m", "256MiB", "-c", "10%", "--max-time", "1m", "--", "sh", "-c", "id -u")
    assert ran.returncode == 0, ran.stderr
    assert 61000 <= int(ran.stdout) <= 64999
    assert {row["state"] for row in json.loads(vxpu("reserve", "list", "-o", "json").stdout)} <= {"ending", "completed"}


def test_no_room_comes_with_a_reason_and_a_way(vxpu: Vxpu, device: dict[str, Any]) -> None:
    ran = vxpu("reserve", "create", "-m", "1MiB", "-c", "100%")
    assert (ran.returncode, ran.stdout) == (3, "")
    assert "fits now:" in ran.stderr


def test_a_run_that_outlives_its_reservation_is_ended_by_the_platform(vxpu: Vxpu, ready_lease: ReadyLease) -> None:
    lease = ready_lease(seconds=8)["lease"]["id"]
    assert vxpu("run", "--lease", lease, "--", "sleep", "60").returncode == 75


def test_another_tenants_lease_does_not_exist(vxpu: Vxpu, operator: Any, stack: Stack, ready_lease: ReadyLease) -> None:
    from config.demo.cast import make_tenant

    lease = ready_lease()["lease"]["id"]
    stranger = make_tenant(operator, stack.urls["web"], "B", run=lease[-8:])
    env = {"PATH": os.environ["PATH"], "VXPU_SERVER": stack.urls["web"], "VXPU_TOKEN": stranger.member.token,
           "VXPU_AGENT_SOCKET": str(stack.layout.agent_socket)}  # fmt: skip
    argv = [sys.executable, "-m", "cli", "run", "--lease", lease, "--", "true"]
    ran = subprocess.run(argv, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 71
    assert "not_found" in ran.stderr
