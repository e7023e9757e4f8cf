"""The checkpoint or restart hook: before a slice loses its place, its programs may save what they have.

What runs is, first found: the tenant's own `HOOK` in the slice's home (a script for sh), or the operator's `--hook`. It
runs inside the slice, with its rights and limits, as ``HOOK lease reason deadline``; the same words are in VXPU_LEASE,
VXPU_HOOK_REASON and VXPU_HOOK_DEADLINE. Exit code 0 is ok. At the deadline it gets SIGTERM, after the grace SIGKILL.
Without a hook there is nothing to wait for: the programs get SIGTERM when the slice ends. An agent that is started
anew while a hook runs, runs it again: hooks are to be repeatable.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from agent.config import Config
from agent.enforce.launcher import LaunchFailed
from agent.enforce.place import HOME
from agent.enforce.port import Enforcer
from agent.state import SliceRecord
from vxpu.states import LeaseState
from vxpu.wire.exec import ExecEnded, ExecRefused, ExecStarted, FromAgent
from vxpu.wire.node import DesiredLease, Hook, HookDone

HOOK = ".vxpu/hook"
SECOND_NS = 1_000_000_000
_FROM_SHIM: TypeAdapter[ExecStarted | ExecRefused | ExecEnded] = TypeAdapter(FromAgent)
Result = Literal["ok", "failed", "timeout", "none"]
# Starts a program in a slice with these four descriptors: stdin, stdout, stderr, client.
Start = Callable[[SliceRecord, Sequence[str], Mapping[str, str], list[int]], None]


@dataclass(slots=True)
class _Run:
    """One hook of one lease; `done` is None while it runs."""

    hook: Hook
    done: HookDone | None = None
    client: socket.socket | None = None
    is_late: bool = False


class Hooks:
    """All methods belong to the agent's cycle; a thread a hook waits for its end."""

    def __init__(self, config: Config, enforcer: Enforcer, *, start: Start, wake: Callable[[], None]) -> None:
        self._config = config
        self._enforcer = enforcer
        self._start = start
        self._wake = wake
        self._runs: dict[str, _Run] = {}

    def tend(
        self, desired: Mapping[str, DesiredLease] | None, slices: Mapping[str, SliceRecord], *, now_ns: int
    ) -> list[tuple[str, str]]:
        """Start what is asked for, end what is late; (lease, words) of what came of it since the last call."""
        asked = {name: lease.hook for name, lease in (desired or {}).items() if lease.hook is not None}
        if desired is not None:
            for name in self._runs.keys() - asked.keys():
                self._hang_up(self._runs.pop(name))
        said = []
        for name, hook in asked.items():
            run = self._runs.get(name)
            if run is None or run.hook.id != hook.id:
                run = self._runs[name] = self._begin(hook, slices.get(name))
                said.append((name, f"hook {hook.reason}: {'begun' if run.done is None else _words(run.done)}"))
            elif run.done is None and now_ns >= _deadline_ns(run.hook) and not run.is_late:
                run.is_late = True
                self._hang_up(run)
        return said

    def answers(self) -> dict[str, HookDone]:
        """By lease, of hooks that are over and that the server still asks for."""
        return {name: run.done for name, run in self._runs.items() if run.done is not None}

    def _begin(self, hook: Hook, record: SliceRecord | None) -> _Run:
        if record is None or record.state != LeaseState.READY or record.gate_closed:
            state = "not here" if record is None else "paused" if record.gate_closed else record.state
            return _Run(hook, _done(hook, "none", f"the slice is {state}"))
        argv = self._command(record)
        if not argv:
            return _Run(hook, _done(hook, "none", "no hook is set; its programs get SIGTERM"))
        run = _Run(hook)
        try:
            run.client = self._launch(record, argv, hook)
        except (OSError, LaunchFailed) as error:
            return _Run(hook, _done(hook, "failed", f"cannot start: {error}"))
        threading.Thread(target=self._follow, args=(run,), name=f"hook-{record.lease_id}", daemon=True).start()
        return run

    def _command(self, record: SliceRecord) -> tuple[str, ...]:
        """Whether the tenant's is there is looked at from outside, and it is started inside: no link leads out."""
        home = self._config.run_dir / "slices" / record.lease_id / "scratch/home"
        own = home / HOOK
        if own.is_symlink() or own.is_file():
            # A slice's home is mounted noexec, so its hook is a script for sh.
            return ("sh", f"{HOME if self._enforcer.has_namespaces else home}/{HOOK}")
        return self._config.hook

    def _launch(self, record: SliceRecord, argv: Sequence[str], hook: Hook) -> socket.socket:
        deadline = hook.deadline.isoformat()
        ours, theirs = socket.socketpair()
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            environment = {"VXPU_HOOK_REASON": hook.reason, "VXPU_HOOK_DEADLINE": deadline}
            words = [*argv, record.lease_id, hook.reason, deadline]
            self._start(record, words, environment, [null, null, null, theirs.fileno()])
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
            os.close(null)
        return ours

    def _follow(self, run: _Run) -> None:
        """In a thread: the shim's words until its end."""
        last: ExecStarted | ExecRefused | ExecEnded | None = None
        client = run.client
        if client is None:
            return
        try:
            with client, client.makefile() as lines:
                for line in lines:
                    last = _FROM_SHIM.validate_json(line)
        except (OSError, ValidationError):
            last = None
        run.done = _judge(run, last)
        self._wake()

    def _hang_up(self, run: _Run) -> None:
        """The shim ends a program whose client went away."""
        if run.client is not None and run.done is None:
            with contextlib.suppress(OSError):  # it has just ended
                run.client.shutdown(socket.SHUT_WR)


def _judge(run: _Run, last: ExecStarted | ExecRefused | ExecEnded | None) -> HookDone:
    if run.is_late:
        return _done(run.hook, "timeout", "it was ended at the deadline")
    match last:
        case ExecEnded(code=0):
            return _done(run.hook, "ok", "")
        case ExecEnded():
            return _done(run.hook, "failed", f"exit code {last.code} {last.platform}".strip())
        case ExecRefused():
            return _done(run.hook, "failed", f"{last.code}: {last.detail}")
    return _done(run.hook, "failed", "its shim died")


def _done(hook: Hook, result: Result, detail: str) -> HookDone:
    return HookDone(id=hook.id, result=result, detail=detail[:400])


def _words(done: HookDone) -> str:
    return f"{done.result} {done.detail}".strip()


def _deadline_ns(hook: Hook) -> int:
    return int(hook.deadline.timestamp() * 1000) * (SECOND_NS // 1000)
