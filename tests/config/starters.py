"""Another process that starts the servers, as a launcher would, so that a test can kill it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import json, sys, time
from pathlib import Path
from config.embedded import start_postgres, start_valkey
folder = Path(sys.argv[1])
pg = start_postgres(data_dir=folder / "pg", durable=sys.argv[2] == "durable")
vk = start_valkey(data_dir=folder / "vk")
print(json.dumps({
    "pids": [pg.pid, vk.pid], "app": pg.app_url, "owner": pg.owner_url, "valkey": vk.url,
    "keepers": [one.process.keeper_pid for one in (pg, vk) if one.process], "mine": pg.process is not None,
}), flush=True)
time.sleep(600)
"""


def spawn_starter(folder: Path, *, durable: bool = False) -> subprocess.Popen[str]:
    """The process, not waited for; its one line of output says what it started."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), "durable" if durable else "fast"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def started(starter: subprocess.Popen[str]) -> dict[str, Any]:
    assert starter.stdout is not None
    return dict(json.loads(starter.stdout.readline()))


def end(starter: subprocess.Popen[str]) -> None:
    """kill -9, and close our side."""
    starter.kill()
    starter.wait()
    if starter.stdout is not None:
        starter.stdout.close()


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return condition()
