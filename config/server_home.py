"""What the embedded servers share: a folder with its passwords and log, one starter at a time, a free port, waiting."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from config.guard import Guarded
from config.reach import Account, forgotten_stores, place_for, server_account

READY_TIMEOUT_S = 60.0
STOP_GRACE_S = 20.0
PORT_TRIES = 5
PORT_LOST_S = 2.0
LOG_LIMIT_BYTES = 10 * 2**20
PORTS = range(15000, 30000)  # below the kernel's own range for outgoing connections


class EmbeddedFailed(RuntimeError):
    """A server did not start; the message ends with the last lines of its log."""


class PasswordRefused(EmbeddedFailed):
    """Whoever answers at the port does not take our password."""


@dataclass(frozen=True, slots=True)
class Home:
    """One server's folder: what it may read is the account's, the passwords stay with the starter."""

    path: Path
    account: Account

    @property
    def log(self) -> Path:
        return self.path / "server.log"

    def read(self, name: str) -> dict[str, str]:
        try:
            return dict(json.loads((self.path / name).read_text()))
        except FileNotFoundError:
            return {}

    def write(self, name: str, facts: dict[str, str]) -> None:
        draft = self.path / f".{name}.new"
        draft.unlink(missing_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as sink:
            json.dump(facts, sink)
        draft.rename(self.path / name)

    def passwords(self, *names: str) -> dict[str, str]:
        known = self.read("passwords.json")
        if not set(names) <= set(known):
            known = {name: secrets.token_urlsafe(24) for name in names}
            self.write("passwords.json", known)
        return known

    def log_tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-12:]) if self.log.exists() else ""


@contextlib.contextmanager
def locked_home(data_dir: Path) -> Iterator[Home]:
    """The folder for `data_dir`, held so that two starters take turns."""
    wanted = data_dir.resolve()
    wanted.parent.mkdir(parents=True, exist_ok=True)
    with (wanted.parent / f".{wanted.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        account = server_account()
        home = Home(place_for(wanted, account), account)
        if not os.access(home.path, os.W_OK):
            raise EmbeddedFailed(f"{data_dir} belongs to another user: run as that user or name another folder")
        if home.log.exists() and home.log.stat().st_size > LOG_LIMIT_BYTES:
            home.log.rename(home.log.with_suffix(".log.1"))
        _sweep_stores()
        yield home


def _sweep_stores() -> None:
    """Nothing else would ever remove them; one whose server still stops is left for the next start."""
    for store in forgotten_stores():
        facts = Home(store, Account(None, None)).read("running.json")
        if not facts or _start_time(int(facts["pid"])) != facts["pid_started"]:
            shutil.rmtree(store, ignore_errors=True)


def free_port(preferred: int | None = None) -> int:
    """A TCP port of 127.0.0.1 that nobody listens on now; `preferred` when it is free."""
    for port in [*([preferred] if preferred else []), *random.sample(PORTS, 200)]:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return port
    raise EmbeddedFailed("no free port on 127.0.0.1")


def _start_time(pid: int) -> str:
    """Field 22 of /proc/<pid>/stat: with the pid it names one process for good. Empty when there is none."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""


def serving(home: Home) -> dict[str, str] | None:
    """The facts of the server that runs on this folder, once its starter is known to be alive.

    A server whose starter died is about to be stopped by its keeper: wait for that rather than hand it out.
    """
    facts = home.read("running.json")
    deadline = time.monotonic() + 3 * STOP_GRACE_S
    while facts and _start_time(int(facts["pid"])) == facts["pid_started"]:
        if _start_time(int(facts["starter"])) == facts["starter_started"]:
            return facts
        if time.monotonic() > deadline:
            raise EmbeddedFailed(f"process {facts['pid']} still holds {home.path} though its starter is gone")
        time.sleep(0.1)
    return None


def _record(home: Home, *, pid: int, port: int) -> None:
    starter = os.getpid()
    home.write(
        "running.json",
        {
            "pid": str(pid),
            "pid_started": _start_time(pid),
            "starter": str(starter),
            "starter_started": _start_time(starter),
            "port": str(port),
        },
    )


def start_on_a_port(
    home: Home, port: int | None, launch: Callable[[int], Guarded], ready: Callable[[int], bool]
) -> tuple[Guarded, int]:
    """Launch and wait until ready. With no port asked for, the last one is tried first, then others."""
    last = home.read("running.json").get("port")
    wanted = port or free_port(int(last) if last else None)
    for attempt in range(1, PORT_TRIES + 1):
        process = launch(wanted)
        if _until_ready(process, lambda at=wanted: ready(at)):  # type: ignore[misc]
            _record(home, pid=process.pid, port=wanted)
            return process, wanted
        process.stop()
        if attempt < PORT_TRIES:
            # The port may have been taken in between, or children of a killed server still hold its memory.
            time.sleep(0.5 * attempt)
            wanted = port or free_port()
    raise EmbeddedFailed(f"the server on {home.path} did not start:\n{home.log_tail()}")


def _until_ready(process: Guarded, ready: Callable[[], bool]) -> bool:
    """False when the process ended, which it also does when another server was first at the port."""
    deadline = time.monotonic() + READY_TIMEOUT_S
    while process.is_running() and time.monotonic() < deadline:
        try:
            if ready():
                return process.is_running()
        except PasswordRefused:
            time.sleep(PORT_LOST_S)  # the other server's answer? Then ours is about to give up.
            if process.is_running():
                process.stop()
                raise
        time.sleep(0.05)
    return False
