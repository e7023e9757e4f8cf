"""The whole stack on one machine: start in order, keep alive, stop in order, leave nothing.

`python -m config.stack up` is `make run`; the demo and the end-to-end tests use `Stack` as a library:

    with Stack(var=Path("var")) as stack:
        stack.urls["web"]; stack.kill9("worker"); stack.wait_healthy("worker")

Every process has a keeper (`config.guard`), so kill -9 of the launcher ends them as well. DATABASE_URL with
DATABASE_OWNER_URL, and REDIS_URL, name servers that run elsewhere; what is not set is started here.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import shlex
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self, TextIO

import psutil

from config.guard import Guarded, StartFailed
from config.interrupts import Interrupted, interrupts, undisturbed
from config.programs import Layout, Plan, Service, next_free_port, postgres_service, valkey_service
from config.reach import remove_place
from config.server_home import EmbeddedFailed
from config.traces import find_keeper, read_state, tail, write_state

WATCH_S = 0.2
BACK_OFF_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
STEADY_S = 30.0
OLD_KEEPERS_S = 40.0
STOP_ORDER = (("agent",), ("beat", "worker", "sockets", "web"), ("valkey", "postgres"))
DEFAULT_WEB_PORT = 8800
FAULTS = (StartFailed, EmbeddedFailed, OSError)


class StackFailed(RuntimeError):
    """The stack did not come up; the message says which part, and ends with its log."""


class Stack:
    """One stack under `var`. `env` is what its programs see besides their addresses; `say` gets progress lines."""

    def __init__(
        self,
        *,
        var: Path,
        env: Mapping[str, str] | None = None,
        say: Callable[[str], None] = lambda _: None,
        agent: bool = True,
    ) -> None:
        self.layout = Layout(var.resolve())
        self.env = {**(os.environ if env is None else env)}
        self.services: dict[str, Service] = {}
        self.urls: dict[str, str] = {}
        self._say = say
        self._with_agent = agent
        self._turn = threading.RLock()
        self._stopping = threading.Event()
        self._watcher: threading.Thread | None = None
        self._held: TextIO | None = None
        self._web_port = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pids(self) -> dict[str, int]:
        """The main process of each running part."""
        return {name: one.process.pid for name, one in self.services.items() if one.process and one.running}

    @property
    def operator_token(self) -> str:
        return (self.layout.var / "operator.token").read_text().strip()

    # ---- start and stop ----

    def start(self) -> None:
        """Start everything and wait until all of it is healthy. Raises StackFailed; nothing runs then."""
        try:
            self._start()
        except FAULTS as error:
            self.stop()
            raise StackFailed(str(error)) from error
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        self.layout.make()
        self._hold()
        self._await_old_keepers()
        began = time.monotonic()
        self._start_databases()
        plan = self._plan()
        self._prepare()
        for service in plan.services():
            self._begin(service)
        for name in ("web", "sockets", "worker", "beat"):
            self.wait_healthy(name)
        if self._with_agent:
            self._begin(plan.agent(lambda: self.operator_token))
            self.wait_healthy("agent")
        self._watcher = threading.Thread(target=self._watch, name="stack-watch", daemon=True)
        self._watcher.start()
        self._report(f"up in {time.monotonic() - began:.1f} s: {self.urls['web']}")

    def stop(self) -> None:
        """Stop in order and wait until every process has ended. Safe to call twice."""
        with undisturbed():
            self._stopping.set()
            if self._watcher is not None:
                self._watcher.join()
                self._watcher = None
            for names in STOP_ORDER:
                self._stop_together([self.services[name] for name in names if name in self.services])
            if self._held is not None:
                (self.layout.run / "stack.json").unlink(missing_ok=True)
                self._held.close()
                self._held = None

    def _stop_together(self, services: Sequence[Service]) -> None:
        processes = [one.process for one in services if one.process is not None]
        for process in processes:
            process.let_go()
        for process in processes:
            process.stop()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep every launcher off this folder for the block. Raises StackFailed when one is on it."""
        self.layout.make()
        self._hold()
        try:
            yield
        finally:
            self.stop()

    def _hold(self) -> None:
        held = (self.layout.run / "stack.lock").open("a+")
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            held.close()
            urls = read_state(self.layout.var).get("urls", {})
            raise StackFailed(f"a stack runs on {self.layout.var} already: {urls.get('web', 'starting')}") from error
        self._held = held

    def _await_old_keepers(self) -> None:
        """After kill -9 of a launcher its keepers stop their programs; a new start lets them finish."""
        keepers = read_state(self.layout.var).get("keepers", {})
        old = [found for pid in keepers.values() if (found := find_keeper(int(pid)))]
        if old:
            self._report("waiting for the processes of a launcher that was killed")
            for left in psutil.wait_procs(old, timeout=OLD_KEEPERS_S)[1]:
                left.kill()

    # ---- the parts ----

    def _start_databases(self) -> None:
        given = {name for name in ("DATABASE_URL", "DATABASE_OWNER_URL") if self.env.get(name)}
        if len(given) == 1:
            raise StackFailed("set both DATABASE_URL and DATABASE_OWNER_URL, or neither")
        if not given:
            self._begin(postgres_service(self.layout, None, self._found_postgres))
        if not self.env.get("REDIS_URL"):
            self._begin(valkey_service(self.layout, None, self._found_valkey))

    def _found_postgres(self, app_url: str, owner_url: str) -> None:
        self.env |= {"DATABASE_URL": app_url, "DATABASE_OWNER_URL": owner_url}

    def _found_valkey(self, url: str) -> None:
        self.env["REDIS_URL"] = url

    def _plan(self) -> Plan:
        self._web_port = next_free_port(int(self.env.get("VXPU_WEB_PORT") or DEFAULT_WEB_PORT))
        socket_port = next_free_port(int(self.env.get("VXPU_SOCKET_PORT") or self._web_port + 1))
        self.urls = {"web": f"http://127.0.0.1:{self._web_port}", "sockets": f"ws://127.0.0.1:{socket_port}"}
        self.env |= {
            "DJANGO_SETTINGS_MODULE": "config.settings.dev",
            "VXPU_VAR": str(self.layout.var),
            "VXPU_WEB_URL": self.urls["web"],
            "VXPU_WEB_BIND": f"127.0.0.1:{self._web_port}",
            "VXPU_SOCKET_URL": self.urls["sockets"],
            "VXPU_SERVER": self.urls["web"],
            "VXPU_AGENT_SOCKET": str(self.layout.agent_socket),
            "PYTHONUNBUFFERED": "1",
        }
        self.env.setdefault("DJANGO_SECRET_KEY", self.layout.secret("django.key"))
        self._write_env()
        return Plan(self.layout, self.env, self._web_port, socket_port)

    def _write_env(self) -> None:
        """`var/run/stack.env` (0600): `set -a; . var/run/stack.env` gives a shell what the programs have."""
        names = [name for name in sorted(self.env) if name.startswith(("VXPU_", "DATABASE_", "REDIS_", "DJANGO_"))]
        file = self.layout.run / "stack.env"
        file.unlink(missing_ok=True)
        file.touch(mode=0o600)
        file.write_text("".join(f"{name}={shlex.quote(self.env[name])}\n" for name in names))

    def _prepare(self) -> None:
        """`manage.py init`: migrations, keys and the operator, as the owner's role."""
        began = time.monotonic()
        log = self.layout.log / "init.log"
        log.unlink(missing_ok=True)
        process = Guarded([sys.executable, "manage.py", "init"], log=log, env=self.env, cwd=Path(__file__).parents[1])
        try:
            failed = process.wait()
        finally:
            process.stop()
        if failed:
            raise StackFailed(f"manage.py init failed ({failed}):\n{tail(log)}")
        self._report(f"init       done  {time.monotonic() - began:.1f} s")

    def _begin(self, service: Service) -> None:
        self.services[service.name] = service
        service.start()
        self._write_state()
        if service.name in {"postgres", "valkey"}:
            self._report(f"{service.name:10} ready {time.monotonic() - service.started_at:.1f} s")

    # ---- looking after them ----

    def wait_healthy(self, name: str, timeout_s: float | None = None) -> None:
        """Wait until a part runs and answers. Raises StackFailed with the end of its log.

        During the start a part that ends is a failure at once; later the watch restarts it meanwhile.
        """
        service = self.services[name]
        deadline = time.monotonic() + (timeout_s or service.ready_s)
        while not (service.running and service.healthy()):
            ended = self._watcher is None and not service.running
            if ended or time.monotonic() > deadline:
                why = "ended" if ended else "is not healthy in time"
                raise StackFailed(f"{name} {why}:\n{tail(self.layout.log / f'{name}.log')}")
            time.sleep(0.05)
        if self._watcher is None:
            self._report(f"{name:10} ready {time.monotonic() - service.started_at:.1f} s")

    def restart(self, name: str) -> None:
        """Stop one part in order and start it again; returns when it is healthy."""
        with self._turn:
            service = self.services[name]
            if service.process is not None:
                service.process.stop()
            service.start()
            self._write_state()
        self.wait_healthy(name)

    def kill9(self, name: str) -> None:
        """kill -9 the main process of one part. The watch starts it again; see `wait_healthy`."""
        with self._turn:
            process = self.services[name].process
            if process is None:
                raise StackFailed(f"{name} does not run")
            os.kill(process.pid, signal.SIGKILL)
            process.wait()

    def _watch(self) -> None:
        while not self._stopping.wait(WATCH_S):
            for service in self.services.values():
                with self._turn:
                    self._look_after(service)

    def _look_after(self, service: Service) -> None:
        now = time.monotonic()
        if service.running or self._stopping.is_set():
            return
        if service.process is not None:
            status = service.process.poll()
            service.process = None
            steady = now - service.started_at > STEADY_S
            service.failures = 0 if steady else service.failures + 1
            pause = BACK_OFF_S[min(service.failures, len(BACK_OFF_S) - 1)]
            service.start_at = now + pause
            self._report(f"{service.name} ended with status {status}; starting it again in {pause:g} s")
        if now < service.start_at:
            return
        try:
            service.start()
            self._write_state()
        except FAULTS as error:
            service.failures += 1
            service.start_at = now + BACK_OFF_S[min(service.failures, len(BACK_OFF_S) - 1)]
            self._report(f"{service.name} did not start: {error}")

    def _write_state(self) -> None:
        processes = {name: one.process for name, one in self.services.items() if one.process}
        facts = {
            "launcher": os.getpid(),
            "urls": self.urls,
            "pids": {name: one.pid for name, one in processes.items()},
            "keepers": {name: one.keeper_pid for name, one in processes.items()},
        }
        write_state(self.layout.var, facts)

    def _report(self, line: str) -> None:
        self._say(line)
        with (self.layout.log / "stack.log").open("a") as sink:
            sink.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {line}\n")


# ---- command line ---------------------------------------------------------------------------------------------------


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _up(var: Path, *, agent: bool) -> int:
    with contextlib.suppress(Interrupted), interrupts(), Stack(var=var, say=_say, agent=agent) as stack:
        _say(f"site   {stack.urls['web']}  (API documentation: {stack.urls['web']}/api/docs)")
        _say(f"log-in operator token in {stack.layout.var / 'operator.token'}")
        _say("Ctrl-C stops everything.")
        while True:
            signal.pause()
    _say("stopped")
    return 0


def _status(var: Path) -> int:
    state = read_state(var)
    if not state:
        _say(f"no stack runs on {var}")
        return 1
    for name, url in state["urls"].items():
        _say(f"{name:10} {url}")
    for name, pid in state["pids"].items():
        _say(f"{name:10} pid {pid} {'runs' if psutil.pid_exists(int(pid)) else 'is gone'}")
    return 0


def _clean(var: Path) -> int:
    """Remove a data folder with what the servers keep elsewhere for it; never under a running stack."""
    if not var.exists():
        return 0
    try:
        with Stack(var=var).held():
            for name in ("postgres", "valkey"):
                remove_place(var / name)
    except StackFailed as error:
        _say(f"error: {error}")
        return 1
    shutil.rmtree(var)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """`up`, `status` and `clean`."""
    parser = argparse.ArgumentParser(prog="python -m config.stack", description="Run the whole stack on this machine.")
    parser.add_argument("what", choices=["up", "status", "clean"])
    parser.add_argument("--var", type=Path, default=Path(os.environ.get("VXPU_VAR", "var")), help="data folder (var)")
    parser.add_argument("--no-agent", action="store_true", help="leave out this machine's node agent")
    chosen = parser.parse_args(argv)
    if chosen.what == "status":
        return _status(chosen.var)
    if chosen.what == "clean":
        return _clean(chosen.var)
    try:
        return _up(chosen.var, agent=not chosen.no_agent)
    except StackFailed as error:
        _say(f"error: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
