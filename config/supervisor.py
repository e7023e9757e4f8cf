"""Keeps a set of services alive: a part that ends is started again, later each time, and said so in the log."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable

import psycopg

from config.guard import StartFailed
from config.programs import Layout, Service
from config.reach import Unreachable
from config.server_home import EmbeddedFailed
from config.traces import tail, write_state

WATCH_S = 0.2
BACK_OFF_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
STEADY_S = 30.0
FAULTS = (StartFailed, EmbeddedFailed, Unreachable, OSError, psycopg.Error)


class StackFailed(RuntimeError):
    """The stack did not come up; the message says which part, and ends with its log."""


class Supervisor:
    """The services of one stack, by name. Public methods may be called from any thread."""

    def __init__(self, layout: Layout, say: Callable[[str], None]) -> None:
        self.layout = layout
        self.services: dict[str, Service] = {}
        self.urls: dict[str, str] = {}
        self._say = say
        self._turn = threading.RLock()
        self._stopping = threading.Event()
        self._watcher: threading.Thread | None = None

    @property
    def pids(self) -> dict[str, int]:
        """The main process of each running part."""
        return {name: one.process.pid for name, one in self.services.items() if one.process and one.running}

    def begin(self, service: Service) -> None:
        """Start a part for the first time; whoever needs it calls `wait_healthy`."""
        with self._turn:
            self.services[service.name] = service
            service.start()
            self._write_state()

    def wait_healthy(self, name: str, timeout_s: float | None = None) -> None:
        """Wait until a part runs and answers. Raises StackFailed with the end of its log.

        Before the watch runs, a part that ends is a failure at once; later it is started again meanwhile.
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
            self.report(f"{name:10} ready {time.monotonic() - service.started_at:.1f} s")

    def restart(self, name: str) -> None:
        """Stop one part in order and start it again; returns when it is healthy."""
        with self._turn:
            self.take_down(name)
            self.bring_up(name)
        self.wait_healthy(name)

    def kill9(self, name: str) -> None:
        """kill -9 the main process of one part. The watch starts it again; see `wait_healthy`."""
        with self._turn:
            process = self.services[name].process
            if process is None:
                raise StackFailed(f"{name} does not run")
            os.kill(process.pid, signal.SIGKILL)
            process.wait()

    def take_down(self, name: str) -> None:
        """Stop one part in order and leave it down until `bring_up`: an outage, for tests."""
        with self._turn:
            service = self.services[name]
            service.wanted = False
            if service.process is not None:
                service.process.stop()
                service.process = None

    def bring_up(self, name: str) -> None:
        """Start a part that was taken down; see `wait_healthy`."""
        with self._turn:
            service = self.services[name]
            service.wanted = True
            service.start()
            self._write_state()

    def watch(self) -> None:
        """From now on, start again what ends."""
        self._stopping.clear()
        self._watcher = threading.Thread(target=self._watch, name="stack-watch", daemon=True)
        self._watcher.start()

    def end_watch(self) -> None:
        """Returns when nothing will be started any more."""
        self._stopping.set()
        if self._watcher is not None:
            self._watcher.join()
            self._watcher = None

    def _watch(self) -> None:
        while not self._stopping.wait(WATCH_S):
            for service in list(self.services.values()):
                with self._turn:
                    self._look_after(service)

    def _look_after(self, service: Service) -> None:
        now = time.monotonic()
        if service.running or not service.wanted or self._stopping.is_set():
            return
        if service.process is not None:
            status = service.process.poll()
            service.process = None
            steady = now - service.started_at > STEADY_S
            service.failures = 0 if steady else service.failures + 1
            self._put_off(service, f"ended with status {status}")
        if now < service.start_at:
            return
        try:
            service.start()
            self._write_state()
        except FAULTS as error:
            service.failures += 1
            self._put_off(service, f"did not start: {error}")

    def _put_off(self, service: Service, why: str) -> None:
        pause = BACK_OFF_S[min(service.failures, len(BACK_OFF_S) - 1)]
        service.start_at = time.monotonic() + pause
        self.report(f"{service.name} {why}; starting it again in {pause:g} s")

    def _write_state(self) -> None:
        processes = {name: one.process for name, one in self.services.items() if one.process}
        facts = {
            "launcher": os.getpid(),
            "urls": self.urls,
            "pids": {name: one.pid for name, one in processes.items()},
            "keepers": {name: one.keeper_pid for name, one in processes.items()},
        }
        write_state(self.layout.var, facts)

    def report(self, line: str) -> None:
        """Say it, and keep it in `var/log/stack.log`."""
        # A closed terminal or a full disk must not end the watch: keeping the parts alive comes first.
        with contextlib.suppress(OSError):
            self._say(line)
        with contextlib.suppress(OSError), (self.layout.log / "stack.log").open("a") as sink:
            sink.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {line}\n")
