"""The client's end of the exec protocol (`vxpu.wire.exec`): run a program in a slice on this node.

The program gets this process's own stdin, stdout and stderr (SCM_RIGHTS), so pipes and terminals work as if it were a
child; signals are relayed, and its exit code comes back.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from pydantic import TypeAdapter, ValidationError

from cli.errors import CliError, NodeLost
from cli.exits import ExitCode
from vxpu.wire.exec import ExecEnded, ExecRefused, ExecRequest, ExecSignal, ExecStarted, FromAgent

RELAYED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
KILL_AFTER_S = 10.0
_MAX_LINE = 64 * 1024
_FROM_AGENT: TypeAdapter[ExecStarted | ExecRefused | ExecEnded] = TypeAdapter(FromAgent)


# The agent's own codes (docs/agent.md); those that are not here are states that may pass: "conflict".
_REFUSALS = {
    "bad_token": ExitCode.NOT_AUTHENTICATED,
    "expired_token": ExitCode.NOT_AUTHENTICATED,
    "not_found": ExitCode.NOT_FOUND,
    "superseded": ExitCode.NODE_LOST,
    "gate_closed": ExitCode.UNAVAILABLE,
    "usage": ExitCode.USAGE,
}


class AgentRefused(CliError):
    """The agent would not start the program; `code` says why."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"the node refused to start the program: {detail} ({code})")
        self.code = code
        self.exit_code = _REFUSALS.get(code, ExitCode.CONFLICT)


@dataclass
class Agent:
    """One connection to the agent of this node; `path` is its UNIX socket."""

    path: str
    _socket: socket.socket
    _buffer: bytes = b""

    @classmethod
    def connect(cls, path: str) -> Self:
        """Raises NodeLost when no agent listens there."""
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            peer.connect(path)
        except OSError as error:
            peer.close()
            raise NodeLost(
                f"no agent answers at {path}: {error.strerror}",
                suggestion="run this on the lease's node, or name its socket with VXPU_AGENT_SOCKET",
            ) from error
        return cls(path, peer)

    def close(self) -> None:
        self._socket.close()

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: ExecRequest | ExecSignal, descriptors: Sequence[int] = ()) -> None:
        line = message.model_dump_json().encode() + b"\n"
        try:
            # The descriptors ride on the first byte; a long line may need more than one send.
            sent = socket.send_fds(self._socket, [line], list(descriptors)) if descriptors else 0
            if rest := line[sent:]:  # even an empty send would fail when the agent has answered and left already
                self._socket.sendall(rest)
        except OSError as error:
            raise NodeLost(f"the agent at {self.path} is gone: {error.strerror}") from error

    def receive(self) -> list[ExecStarted | ExecRefused | ExecEnded]:
        """The whole lines that have arrived (maybe none). Raises NodeLost at the end of the stream."""
        try:
            data = self._socket.recv(_MAX_LINE)
        except OSError as error:
            raise NodeLost(f"the agent at {self.path} is gone: {error.strerror}") from error
        if not data:
            raise NodeLost("the agent closed the connection before the program's end was known")
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        if len(self._buffer) > _MAX_LINE:
            raise CliError("the agent sent a line that is too long")
        try:
            return [_FROM_AGENT.validate_json(line) for line in lines]
        except ValidationError as error:
            raise CliError(f"the agent said something that is not of the protocol: {error}") from error


def run_in_slice(
    agent: Agent,
    *,
    lease_token: str,
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    max_time_s: float | None = None,
    on_start: Callable[[ExecStarted], None] = lambda _started: None,
) -> ExecEnded:
    """Start `argv` in the slice and stay until it ends. Raises AgentRefused, NodeLost.

    After `max_time_s` the program gets SIGTERM, ten seconds later SIGKILL, and the end is reported as "expired".
    """
    with _signals() as arrivals:
        request = ExecRequest(lease_token=lease_token, argv=list(argv), env=dict(env), cwd=cwd)
        agent.send(request, descriptors=(0, 1, 2))
        limit = _Deadline(max_time_s)
        for event in _events(agent, arrivals, limit):
            if isinstance(event, ExecSignal):
                agent.send(event)
            elif isinstance(event, ExecRefused):
                raise AgentRefused(event.code, event.detail)
            elif isinstance(event, ExecStarted):
                on_start(event)
            else:
                return event.model_copy(update={"platform": event.platform or limit.verdict})
    raise AssertionError("unreachable: the events end by an end or an error")


@dataclass
class _Deadline:
    """SIGTERM at the limit, SIGKILL after the grace; says when to wake up next."""

    limit_s: float | None
    verdict: str = ""

    def __post_init__(self) -> None:
        self._due = None if self.limit_s is None else time.monotonic() + self.limit_s

    def wait_s(self) -> float | None:
        return None if self._due is None else max(0.0, self._due - time.monotonic())

    def take_signal(self) -> ExecSignal | None:
        if self._due is None or time.monotonic() < self._due:
            return None
        number = signal.SIGKILL if self.verdict else signal.SIGTERM
        self._due = None if self.verdict else time.monotonic() + KILL_AFTER_S
        self.verdict = "expired"
        return ExecSignal(signal=number)


def _events(
    agent: Agent, arrivals: int, limit: _Deadline
) -> Iterator[ExecStarted | ExecRefused | ExecEnded | ExecSignal]:
    with selectors.DefaultSelector() as selector:
        selector.register(agent.fileno(), selectors.EVENT_READ)
        selector.register(arrivals, selectors.EVENT_READ)
        while True:
            ready = {key.fd for key, _ in selector.select(limit.wait_s())}
            if (overdue := limit.take_signal()) is not None:
                yield overdue
            if arrivals in ready:
                yield from (ExecSignal(signal=number) for number in os.read(arrivals, 64))
            if agent.fileno() in ready:
                yield from agent.receive()


@contextmanager
def _signals() -> Iterator[int]:
    """A descriptor on which each arriving signal is one byte, its number: no race between a handler and a select."""
    read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = {number: signal.signal(number, lambda *_: None) for number in RELAYED}
    wakeup = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    try:
        yield read_end
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(read_end)
        os.close(write_end)
