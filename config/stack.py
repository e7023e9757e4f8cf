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
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self, TextIO

import psutil

from config import cards
from config.guard import Guarded
from config.interrupts import Interrupted, interrupts, undisturbed
from config.programs import (
    AgentHome,
    Layout,
    Plan,
    Service,
    listener,
    listens,
    port_of,
    postgres_service,
    valkey_service,
)
from config.reach import remove_place
from config.supervisor import FAULTS, StackFailed, Supervisor
from config.traces import find_keeper, read_state, tail

__all__ = ["Stack", "StackFailed"]

OLD_KEEPERS_S = 40.0
REVIVAL_S = 15.0
STOP_ORDER = (("beat", "worker", "sockets", "web"), ("valkey", "postgres"))
DEFAULT_WEB_PORT = 8800


class Stack(Supervisor):
    """One stack under `var`. `env` is what its programs see besides their addresses; `say` gets progress lines."""

    def __init__(
        self,
        *,
        var: Path,
        env: Mapping[str, str] | None = None,
        say: Callable[[str], None] = lambda _: None,
        agent: bool = True,
    ) -> None:
        super().__init__(Layout(var.resolve()), say)
        self._given = {**(os.environ if env is None else env)}
        self.env = dict(self._given)
        self._with_agent = agent
        self._held: TextIO | None = None
        self._listeners: list[socket.socket] = []
        self._agents: list[str] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def operator_token(self) -> str:
        return (self.layout.var / "operator.token").read_text().strip()

    @property
    def operator_login(self) -> str:
        """The operator's e-mail address and first password, for a person to read."""
        file = self.layout.var / "operator.login"
        if not file.exists():
            return "the operator's e-mail address and the password that VXPU_ADMIN_PASSWORD gave"
        email, password = file.read_text().split()
        return f"{email}  password {password}"

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
        self.env = dict(self._given)
        self.layout.make()
        self._hold()
        self._await_old_keepers()
        began = time.monotonic()
        self._start_databases()
        plan = self._plan()
        self._prepare()
        for service in plan.services():
            self.begin(service)
        for name in ("web", "sockets", "worker", "beat"):
            self.wait_healthy(name)
        self._programs = plan
        if self._with_agent:
            self._begin_agent(self._agent(plan))
        self.watch()
        self.report(f"up in {time.monotonic() - began:.1f} s: {self.urls['web']}")

    def _agent(self, plan: Plan) -> Service:
        """With the simulated cards that VXPU_FAKE_CARDS asks for."""
        count = cards.wanted(self.env)
        if not count:
            return plan.agent(lambda: self.operator_token)
        cards.make_cards(self.layout.cards, count)
        self.report(f"cards      {count} simulated, in {self.layout.cards}")
        extra = cards.agent_environment(self.layout.cards)
        return plan.agent(lambda: self.operator_token, options=cards.agent_options(), extra=extra)

    def add_agent(self, name: str, *, extra: Mapping[str, str]) -> AgentHome:
        """One more agent on this machine, as another node; its folders once it is healthy.

        `extra` is for its environment: a VXPU_MACHINE_ID_FILE of its own, and a host reserve that leaves the others
        what they sell.
        """
        self._begin_agent(self._programs.agent(lambda: self.operator_token, name=name, extra=extra))
        return self.layout.agent(name)

    def _begin_agent(self, service: Service) -> None:
        self._agents.append(service.name)
        self.begin(service)
        self.wait_healthy(service.name)

    def stop(self) -> None:
        """Stop in order and wait until every process has ended. Safe to call twice."""
        with undisturbed():
            self.end_watch()
            self._revive_agents()
            for names in (tuple(self._agents), *STOP_ORDER):
                if "web" in names:  # nobody may queue for servers that do not come back
                    self._unlisten()
                self._stop_together([self.services[name] for name in names if name in self.services])
            for name in self._agents:
                shutil.rmtree(self.layout.agent(name).run, ignore_errors=True)
            self._agents.clear()
            if self._held is not None:
                (self.layout.run / "stack.json").unlink(missing_ok=True)
                self._held.close()
                self._held = None

    def _revive_agents(self) -> None:
        """Only an agent can end its slices: one that died a moment ago lives once more for that."""
        for name in self._agents:
            agent = self.services[name]
            if agent.wanted and not agent.running:
                with contextlib.suppress(*FAULTS):  # then there is no agent to be had, and the stop goes on
                    agent.start()
                    self._await_socket(agent)

    def _await_socket(self, agent: Service) -> None:
        deadline = time.monotonic() + REVIVAL_S
        while agent.running and not listens(self.layout.agent(agent.name).socket) and time.monotonic() < deadline:
            time.sleep(0.05)

    def _unlisten(self) -> None:
        while self._listeners:
            self._listeners.pop().close()

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
            self.report("waiting for the processes of a launcher that was killed")
            for left in psutil.wait_procs(old, timeout=OLD_KEEPERS_S)[1]:
                left.kill()

    # ---- the parts ----

    def _start_databases(self) -> None:
        given = {name for name in ("DATABASE_URL", "DATABASE_OWNER_URL") if self.env.get(name)}
        if len(given) == 1:
            raise StackFailed("set both DATABASE_URL and DATABASE_OWNER_URL, or neither")
        if not given:
            self.begin(postgres_service(self.layout, None, self._found_postgres))
            self.wait_healthy("postgres")
        if not self.env.get("REDIS_URL"):
            self.begin(valkey_service(self.layout, None, self._found_valkey))
            self.wait_healthy("valkey")

    def _found_postgres(self, app_url: str, owner_url: str) -> None:
        self.env |= {"DATABASE_URL": app_url, "DATABASE_OWNER_URL": owner_url}

    def _found_valkey(self, url: str) -> None:
        self.env["REDIS_URL"] = url

    def _plan(self) -> Plan:
        web = self._listen(int(self.env.get("VXPU_WEB_PORT") or DEFAULT_WEB_PORT))
        sockets = self._listen(int(self.env.get("VXPU_SOCKET_PORT") or port_of(web) + 1))
        self.urls = {"web": f"http://127.0.0.1:{port_of(web)}", "sockets": f"ws://127.0.0.1:{port_of(sockets)}"}
        self.env |= {
            "DJANGO_SETTINGS_MODULE": "config.settings.dev",
            "VXPU_VAR": str(self.layout.var),
            "VXPU_WEB_URL": self.urls["web"],
            "VXPU_SOCKET_URL": self.urls["sockets"],
            "VXPU_SERVER": self.urls["web"],
            "VXPU_AGENT_SOCKET": str(self.layout.agent_socket),
            "PYTHONUNBUFFERED": "1",
        }
        self.env.setdefault("DJANGO_SECRET_KEY", self.layout.secret("django.key"))
        self._write_env()
        return Plan(self.layout, self.env, web, sockets)

    def _listen(self, first: int) -> socket.socket:
        found = listener(first)
        self._listeners.append(found)
        return found

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
        self.report(f"init       done  {time.monotonic() - began:.1f} s")


# ---- command line ---------------------------------------------------------------------------------------------------


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _up(var: Path, *, agent: bool) -> int:
    with contextlib.suppress(Interrupted), interrupts(), Stack(var=var, say=_say, agent=agent) as stack:
        _say(f"site   {stack.urls['web']}  (API documentation: {stack.urls['web']}/api/docs)")
        _say(f"log in {stack.operator_login}")
        _say(f"token  {stack.layout.var / 'operator.token'}")
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


def clean(var: Path) -> None:
    """Remove a data folder with what lies elsewhere for it. Raises StackFailed while a stack runs on it."""
    if not var.exists():
        return
    stack = Stack(var=var)
    with stack.held():
        for name in ("postgres", "valkey"):
            remove_place(var / name)
        shutil.rmtree(stack.layout.agent().run, ignore_errors=True)
    shutil.rmtree(var)


def main(argv: Sequence[str] | None = None) -> int:
    """`up`, `status` and `clean`."""
    parser = argparse.ArgumentParser(prog="python -m config.stack", description="Run the whole stack on this machine.")
    parser.add_argument("what", choices=["up", "status", "clean"])
    parser.add_argument("--var", type=Path, default=Path(os.environ.get("VXPU_VAR", "var")), help="data folder (var)")
    parser.add_argument("--no-agent", action="store_true", help="leave out this machine's node agent")
    chosen = parser.parse_args(argv)
    if chosen.what == "status":
        return _status(chosen.var)
    try:
        if chosen.what == "clean":
            clean(chosen.var)
            return 0
        return _up(chosen.var, agent=not chosen.no_agent)
    except StackFailed as error:
        _say(f"error: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
