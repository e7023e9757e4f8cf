"""What one vXPU Market is made of: each process with its command line, its environment and its sign of health."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import secrets
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from config.embedded import start_postgres, start_valkey
from config.guard import Guarded

ROOT = Path(__file__).resolve().parents[1]
# Only the programs that need a secret get it: the agent runs strangers' work, the owner's role only migrates.
SERVER_SECRETS = ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL", "DJANGO_SECRET_KEY", "VXPU_ADMIN_PASSWORD")
OWNER_SECRETS = ("DATABASE_OWNER_URL", "VXPU_ADMIN_PASSWORD")
LAST_RESORT = signal.SIGQUIT


@dataclass
class Service:
    """One supervised process. `failures` and `start_at` (monotonic seconds) drive the back-off of its restarts."""

    name: str
    launch: Callable[[], Guarded]
    healthy: Callable[[], bool]
    ready_s: float = 90.0
    process: Guarded | None = None
    wanted: bool = True
    failures: int = 0
    start_at: float = 0.0
    started_at: float = field(default=0.0)

    def start(self) -> None:
        self.started_at = time.monotonic()
        self.process = self.launch()

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.is_running()


@dataclass(frozen=True, slots=True)
class AgentHome:
    """The folders of one agent of a stack below `var`; `name` is its service's as well."""

    var: Path
    name: str

    @property
    def state(self) -> Path:
        return self.var / self.name

    @property
    def run(self) -> Path:
        """Sockets and regions: a short path, as a socket's may have 107 bytes; no two agents of a machine share one."""
        mark = hashlib.sha256(bytes(self.state)).hexdigest()[:8]
        if os.geteuid() == 0:
            return Path("/run") / f"vxpu-{mark}"
        base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
        return Path(base) / f"vxpu-{os.geteuid()}-{mark}"

    @property
    def socket(self) -> Path:
        return self.run / "agent.sock"


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of one stack below its `var`."""

    var: Path

    @property
    def log(self) -> Path:
        return self.var / "log"

    @property
    def run(self) -> Path:
        return self.var / "run"

    @property
    def cards(self) -> Path:
        """Simulated cards, where there are to be some."""
        return self.var / "cards"

    def agent(self, name: str = "agent") -> AgentHome:
        """Where an agent of this machine lives; a stack has one, a test may add others."""
        return AgentHome(self.var, name)

    @property
    def agent_state(self) -> Path:
        return self.agent().state

    @property
    def agent_socket(self) -> Path:
        return self.agent().socket

    def make(self) -> None:
        """Logs may quote requests, and `run` holds secrets: both are for the launcher's user only."""
        self.var.mkdir(parents=True, exist_ok=True)
        for folder in (self.log, self.run):
            folder.mkdir(mode=0o700, exist_ok=True)

    def secret(self, name: str) -> str:
        """A random word kept in a 0600 file of `var/run`; made on first use."""
        file = self.run / name
        with contextlib.suppress(FileExistsError):
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as sink:
                sink.write(secrets.token_urlsafe(48))
        return file.read_text()


def listener(first: int) -> socket.socket:
    """A listening socket at 127.0.0.1 on the first free port from `first` on.

    The launcher keeps it and its servers inherit it: nobody can take the port between two lives of a server, and a
    client that calls meanwhile waits rather than fails.
    """
    for port in range(first, first + 200):
        found = socket.socket()
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind(("127.0.0.1", port))
            found.listen(2048)
        except OSError:
            found.close()
        else:
            return found
    raise OSError(f"no free port among {first}-{first + 199}")


def port_of(one: socket.socket) -> int:
    return int(one.getsockname()[1])


def answers(port: int, path: str = "/healthz") -> bool:
    """Whether a server on 127.0.0.1 answers 200 within two seconds."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        link.request("GET", path)
        return link.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        link.close()


def call(port: int, method: str, path: str, *, token: str, body: Mapping[str, object] | None = None) -> Any:
    """One REST call to this stack's web server. Raises OSError with the answer unless it is a 2xx."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    headers["Idempotency-Key"] = secrets.token_hex(16)
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        link.request(method, path, body=json.dumps(body or {}) if method == "POST" else None, headers=headers)
        answer = link.getresponse()
        text = answer.read().decode()
    except http.client.HTTPException as error:
        raise OSError(f"{method} {path}: {error!r}") from error
    finally:
        link.close()
    if not 200 <= answer.status < 300:
        raise OSError(f"{method} {path}: {answer.status} {text[:500]}")
    return json.loads(text)


class LogMark:
    """Sees words in a log that were written after the mark was set."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self._offset = 0

    def set(self) -> None:
        self._offset = self.log.stat().st_size if self.log.exists() else 0

    def saw(self, words: str) -> bool:
        if not self.log.exists():
            return False
        with self.log.open("rb") as source:
            source.seek(self._offset)
            return words.encode() in source.read()


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that the programs need to know, once the databases run."""

    layout: Layout
    env: Mapping[str, str]
    web: socket.socket
    sockets: socket.socket

    @property
    def web_port(self) -> int:
        return port_of(self.web)

    @property
    def web_url(self) -> str:
        return f"http://127.0.0.1:{self.web_port}"

    def without(self, names: Sequence[str]) -> dict[str, str]:
        return {key: value for key, value in self.env.items() if key not in names}

    def program(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        signals: Sequence[int] = (signal.SIGTERM,),
        grace_s: float = 10.0,
        before: Callable[[], None] = lambda: None,
        inherit: Sequence[socket.socket] = (),
    ) -> Callable[[], Guarded]:
        """How to launch `python -m ARGV` with its own log."""

        def launch() -> Guarded:
            before()
            return Guarded(
                [sys.executable, "-m", *argv],
                log=self.layout.log / f"{name}.log",
                env=self.without(OWNER_SECRETS) if env is None else env,
                cwd=ROOT,
                stop_signals=signals,
                grace_s=grace_s,
                pass_fds=[one.fileno() for one in inherit],
            )

        return launch

    def services(self) -> list[Service]:
        """In the order of their start."""
        return [self._web(), self._sockets(), self._worker(), self._beat()]

    def _web(self) -> Service:
        argv = ["gunicorn", "-c", "python:config.gunicorn", "config.wsgi:application"]
        env = self.without(OWNER_SECRETS) | {"VXPU_WEB_BIND": f"fd://{self.web.fileno()}"}
        launch = self.program("web", argv, env=env, inherit=[self.web])
        return Service("web", launch, lambda: answers(self.web_port))

    def _sockets(self) -> Service:
        argv = ["uvicorn", "config.asgi:application", "--fd", str(self.sockets.fileno()), "--lifespan", "off"]
        argv += ["--no-access-log", "--timeout-graceful-shutdown", "3", "--log-level", "warning"]
        launch = self.program("sockets", argv, inherit=[self.sockets])
        return Service("sockets", launch, lambda: answers(port_of(self.sockets)))

    def _worker(self) -> Service:
        argv = ["celery", "-A", "config.celery", "worker", "--concurrency", "2", "--hostname", "vxpu@%h"]
        argv += ["--loglevel", "INFO", "--without-gossip", "--without-mingle", "--without-heartbeat"]
        mark = LogMark(self.layout.log / "worker.log")
        # Warm shutdown lets a task end; the second signal is a cold one.
        launch = self.program("worker", argv, signals=(signal.SIGTERM, LAST_RESORT), grace_s=8, before=mark.set)
        return Service("worker", launch, lambda: mark.saw(" ready."))

    def _beat(self) -> Service:
        schedule = self.layout.run / "beat"
        argv = [
            "celery",
            "-A",
            "config.celery",
            "beat",
            "--schedule",
            str(schedule),
            "--pidfile=",
            "--loglevel",
            "INFO",
        ]
        mark = LogMark(self.layout.log / "beat.log")

        def before() -> None:
            mark.set()
            for stale in self.layout.run.glob("beat*"):  # kill -9 may have left half of it; all periods are short
                stale.unlink()

        return Service("beat", self.program("beat", argv, before=before), lambda: mark.saw("beat: Starting"))

    def agent(
        self, operator_token: Callable[[], str], *, name: str = "agent", options: Sequence[str] = (),
        extra: Mapping[str, str] | None = None,
    ) -> Service:  # fmt: skip
        """A node agent of this machine, with a one-time token while it has no key of its own.

        `options` and `extra` are for its command line and its environment.
        """
        home = self.layout.agent(name)
        token_file = self.layout.run / f"{name}.enrol"
        argv = ["agent", "run", "--server", self.web_url, "--token-file", str(token_file)]
        argv += ["--state-dir", str(home.state), "--run-dir", str(home.run), "--on-stop", "end"]
        argv += ["--expose", str(ROOT), "--hide", str(home.var)]  # guests run this tree's programs, and see no data

        def enrol() -> None:
            if (home.state / "node.json").exists():
                return
            answer = call(self.web_port, "POST", "/api/v1/enrolments", token=operator_token())
            token_file.unlink(missing_ok=True)
            token_file.touch(mode=0o600)
            token_file.write_text(answer["one_time_token"])

        def healthy() -> bool:
            return listens(home.socket) and self._has_device(home, operator_token())

        argv += options
        env = {**self.without(SERVER_SECRETS), **(extra or {})}
        launch = self.program(name, argv, env=env, grace_s=15, before=enrol)
        return Service(name, launch, healthy)

    def _has_device(self, home: AgentHome, token: str) -> bool:
        try:
            node = json.loads((home.state / "node.json").read_text())["node_id"]
            devices = call(self.web_port, "GET", "/api/v1/devices", token=token)["items"]
        except OSError:
            return False
        return any(device["online"] and device["node"] == node for device in devices)


def listens(path: Path) -> bool:
    """Whether someone accepts at a UNIX socket."""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(1)
        with contextlib.suppress(OSError):
            link.connect(str(path))
            return True
    return False


def postgres_service(layout: Layout, port: int | None, found: Callable[[str, str], None]) -> Service:
    """Embedded PostgreSQL; `found(app_url, owner_url)` is told where it is. A restart keeps the port."""
    at = {"port": port}

    def launch() -> Guarded:
        server = start_postgres(data_dir=layout.var / "postgres", port=at["port"])
        at["port"] = server.port
        found(server.app_url, server.owner_url)
        if server.process is None:
            raise OSError(f"another launcher's PostgreSQL (process {server.pid}) runs on {layout.var}")
        return server.process

    return Service("postgres", launch, lambda: True)


def valkey_service(layout: Layout, port: int | None, found: Callable[[str], None]) -> Service:
    """Embedded Valkey; `found(url)` is told where it is. A restart keeps the port and begins empty."""
    at = {"port": port}

    def launch() -> Guarded:
        server = start_valkey(data_dir=layout.var / "valkey", port=at["port"])
        at["port"] = server.port
        found(server.url)
        if server.process is None:
            raise OSError(f"another launcher's Valkey (process {server.pid}) runs on {layout.var}")
        return server.process

    return Service("valkey", launch, lambda: True)
