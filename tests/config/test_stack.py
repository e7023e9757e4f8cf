"""The launcher under fire: up and healthy, Ctrl-C and kill -9 at any moment, every part killed and back."""

from __future__ import annotations

import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from config.programs import answers, call
from config.stack import Stack, clean
from config.supervisor import StackFailed
from tests.config.launchers import environment, launched, processes_of, var_folder
from tests.config.starters import alive, within

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]
PARTS = ["postgres", "valkey", "web", "sockets", "worker", "beat", "agent"]


@pytest.fixture
def var() -> Iterator[Path]:
    with var_folder() as folder:
        yield folder
        assert within(20, lambda: not processes_of(folder)), processes_of(folder)


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with var_folder() as folder:
        with Stack(var=folder, env=environment()) as running:
            yield running
            running.end_watch()
            running.kill9("agent")  # the stop copes with an agent that is down
        assert processes_of(folder) == []
        assert not running.layout.agent().run.exists()


def test_the_site_and_the_sockets_answer(stack: Stack) -> None:
    assert set(stack.pids) == set(PARTS)
    assert all(answers(int(url.rpartition(":")[2])) for url in stack.urls.values())


def test_this_machine_is_on_sale(stack: Stack) -> None:
    devices = call(int(stack.urls["web"].rpartition(":")[2]), "GET", "/api/v1/devices", token=stack.operator_token)
    assert [device["kind"] for device in devices["items"] if device["kind"] == "cpu"] == ["cpu"]
    assert all(device["online"] for device in devices["items"])


def test_the_operator_logs_in_with_what_the_launcher_shows(stack: Stack) -> None:
    email, _, password = stack.operator_login.split()
    web = int(stack.urls["web"].rpartition(":")[2])
    opened = call(web, "POST", "/api/v1/session", token="", body={"email": email, "password": password})
    assert opened["user"]["email"] == email == "operator@vxpu.internal"
    assert stat.S_IMODE((stack.layout.var / "operator.login").stat().st_mode) == 0o600


def test_secrets_stay_where_they_are_needed(stack: Stack) -> None:
    agent = psutil.Process(stack.pids["agent"]).environ()
    assert not {"DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL", "DJANGO_SECRET_KEY"} & set(agent)
    for name in ("web", "sockets", "worker", "beat"):
        assert "DATABASE_OWNER_URL" not in psutil.Process(stack.pids[name]).environ()
    for name in ("log", "run"):
        assert stat.S_IMODE((stack.layout.var / name).stat().st_mode) == 0o700
    assert stat.S_IMODE((stack.layout.run / "stack.env").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", PARTS)
def test_a_part_killed_by_9_comes_back(stack: Stack, name: str) -> None:
    before = stack.pids[name]
    orphans = [child.pid for child in psutil.Process(before).children(recursive=True)]
    stack.kill9(name)
    stack.wait_healthy(name)
    assert stack.pids[name] != before
    assert within(5, lambda: not any(alive(pid) for pid in orphans))
    assert within(30, lambda: answers(int(stack.urls["web"].rpartition(":")[2])))


def test_a_part_restarts_in_order(stack: Stack) -> None:
    before = stack.pids["worker"]
    stack.restart("worker")
    assert stack.pids["worker"] != before


@pytest.mark.parametrize("name", ["postgres", "valkey"])
def test_an_outage_lasts_until_it_is_ended(stack: Stack, name: str) -> None:
    web = int(stack.urls["web"].rpartition(":")[2])
    stack.take_down(name)
    assert name not in stack.pids
    assert within(30, lambda: answers(web) == (name != "postgres"))
    stack.bring_up(name)
    assert within(30, lambda: answers(web))


def test_one_folder_has_one_launcher(stack: Stack) -> None:
    with pytest.raises(StackFailed, match="already"):
        Stack(var=stack.layout.var, env=environment()).start()
    assert answers(int(stack.urls["web"].rpartition(":")[2]))


def test_kill_9_of_the_launcher_leaves_nothing_and_the_data_is_kept(var: Path) -> None:
    with launched(var) as first:
        first.read_until("Ctrl-C stops")
        token = (var / "operator.token").read_text().strip()
        first.signal(signal.SIGKILL)
    with launched(var, "--no-agent") as second:
        second.read_until("Ctrl-C stops")
        web = int(second.state()["urls"]["web"].rpartition(":")[2])
        assert call(web, "GET", "/api/v1/me", token=token)
        assert second.signal(signal.SIGINT) == 0
    assert processes_of(var) == []
    assert not (var / "run/stack.json").exists()


@pytest.mark.parametrize(
    ("moment", "number"),
    [("postgres", signal.SIGTERM), ("init", signal.SIGINT), ("web", signal.SIGTERM)],
)
def test_a_stop_during_the_start_leaves_no_process(var: Path, moment: str, number: int) -> None:
    with launched(var, "--no-agent") as launcher:
        launcher.read_until(moment)
        assert launcher.signal(number) == 0
    assert processes_of(var) == []


def test_a_folder_is_cleaned_only_when_nothing_runs_on_it(stack: Stack) -> None:
    with pytest.raises(StackFailed, match="already"):
        clean(stack.layout.var)
    assert stack.operator_token


def test_half_an_external_database_is_refused_by_name(tmp_path: Path) -> None:
    given = environment() | {"DATABASE_URL": "postgresql://x:y@127.0.0.1:1/z"}
    with pytest.raises(StackFailed, match="DATABASE_OWNER_URL"):
        Stack(var=tmp_path, env=given).start()
