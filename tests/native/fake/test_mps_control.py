"""The simulated MPS control daemon: start, ask, set, quit, by the command language of the real one."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.native.cards import FAKE

Ask = Callable[..., list[str]]
CONTROL = str(FAKE / "nvidia-cuda-mps-control")


def run(folder: Path, *args: str, commands: str = "") -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "CUDA_MPS_PIPE_DIRECTORY": str(folder)}
    command = [CONTROL, *args]
    return subprocess.run(command, input=commands, env=env, capture_output=True, text=True, timeout=30, check=False)


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Ask]:
    """Lines that the daemon answers to these commands."""
    assert run(tmp_path, "-d").returncode == 0
    yield lambda *commands: run(tmp_path, commands="\n".join(commands) + "\n").stdout.splitlines()
    run(tmp_path, commands="quit\n")


def test_one_daemon_serves_a_folder(ask: Ask, tmp_path: Path) -> None:
    again = run(tmp_path, "-d")

    assert (again.returncode, again.stderr) == (1, "An instance of this daemon is already running\n")
    assert ask("get_server_list") == []


def test_without_a_daemon_there_is_nobody_to_ask(tmp_path: Path) -> None:
    nobody = run(tmp_path, commands="get_server_list\n")

    assert (nobody.returncode, nobody.stdout) == (1, "")
    assert "Cannot find MPS control daemon process" in nobody.stderr


def test_the_default_percentage_is_for_the_next_server(ask: Ask) -> None:
    assert ask("get_default_active_thread_percentage") == ["100.0"]
    ask("start_server -uid 0")
    assert ask("set_default_active_thread_percentage 37.5") == ["37.5"]
    ask("start_server -uid 0")
    first, second = ask("get_server_list")

    assert ask(f"get_active_thread_percentage {first}", f"get_active_thread_percentage {second}") == ["100.0", "37.5"]
    assert ask(f"set_active_thread_percentage {first} 10", "get_default_active_thread_percentage") == ["10.0", "37.5"]


def test_memory_limits_are_kept_by_device(ask: Ask) -> None:
    assert ask("set_default_device_pinned_mem_limit 0 2G", "get_default_device_pinned_mem_limit 0") == ["2G", "2G"]
    ask("start_server -uid 0")
    server = ask("get_server_list")[0]

    assert ask(f"get_device_pinned_mem_limit {server} 0") == ["2G"]
    assert ask(f"set_device_pinned_mem_limit {server} 1 512M") == ["512M"]
    assert ask(f"get_device_pinned_mem_limit {server} 0") == ["2G"]


@pytest.mark.parametrize(
    "command",
    [
        "set_default_active_thread_percentage 0",
        "set_default_active_thread_percentage 101",
        "set_default_active_thread_percentage much",
        "set_default_device_pinned_mem_limit 0 5",
        "set_default_device_pinned_mem_limit 99 5G",
        "set_active_thread_percentage 1 50",
        "get_default_device_pinned_mem_limit",
        "nonsense",
    ],
)
def test_what_makes_no_sense_changes_nothing(command: str, ask: Ask) -> None:
    assert len(ask(command)) == 1
    assert ask("get_default_active_thread_percentage", "get_default_device_pinned_mem_limit 0") == ["100.0", "0M"]


def test_quit_ends_daemon_and_servers(ask: Ask, tmp_path: Path) -> None:
    ask("start_server -uid 0")
    server = int(ask("get_server_list")[0])
    ask("quit")

    assert run(tmp_path, commands="get_server_list\n").returncode == 1
    assert not Path(f"/proc/{server}/exe").exists()
    assert run(tmp_path, "-d").returncode == 0
