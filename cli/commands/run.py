"""run: a program in a slice on this node, in a lease that you hold or in one bought for this run."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from cli import session
from cli.output import say

if TYPE_CHECKING:
    from cli.client import Client
    from vxpu.wire.exec import ExecEnded, ExecStarted

# What a program may want to know of the caller's terminal and language; nothing else leaves the caller's environment.
PASSED_ON = ("TERM", "LANG", "LC_ALL", "TZ", "NO_COLOR", "COLUMNS", "LINES")
READY_WAIT_S = 60.0


def run(
    argv: Annotated[list[str], typer.Argument(metavar="-- CMD [ARG]...", help="the program and its arguments")],
    lease: Annotated[
        str, typer.Option("--lease", help="run in this lease: lse_... (else buy a slice for the run)")
    ] = "",
    memory: session.Memory = "",
    share: session.Share = "",
    project: session.Project = "",
    kind: Annotated[str, typer.Option(help="kind of device: cpu, nvidia, opencl")] = "",
    wait: Annotated[str, typer.Option("--wait", help="wait in the queue this long when there is no room now")] = "",
    max_time: Annotated[
        str, typer.Option("--max-time", help="end the run after this long (default 1h for a slice bought)")
    ] = "",
    env: Annotated[
        list[str] | None, typer.Option("--env", "-e", metavar="K=V", help="environment of the program")
    ] = None,
    cwd: Annotated[str, typer.Option(help="folder to start in (default: this one; the slice sees it read-only)")] = "",
    socket: Annotated[str, typer.Option(envvar="VXPU_AGENT_SOCKET", help="the agent's UNIX socket")] = "",
) -> None:
    """Run a program inside a slice on this node.

    The program's own exit code is passed through; what the platform says is 64 + its exit code (67 no capacity,
    73 waited too long, 74 pre-empted, 75 expired or released, 76 node lost).
    """
    from cli.clock import parse_duration
    from cli.errors import CliError, UsageError
    from cli.exits import RUN_BASE, for_platform_end

    if bool(lease) == bool(memory or share):
        raise UsageError(
            "name a lease, or the slice to buy, and not both",
            suggestion="vxpu run --lease lse_... -- CMD, or vxpu run -m 1GiB -c 25% -- CMD",
        )
    limit_s = parse_duration(max_time).total_seconds() if max_time else None
    wait_s = parse_duration(wait).total_seconds() if wait else 0.0
    program = _Program(argv, parse_environment(env or []), cwd, socket)
    try:
        with session.open_client() as client, _term_is_an_interrupt():
            if lease:
                ended = program.run(client, lease, limit_s)
            else:
                size = session.parse_slice(memory, share)
                body = {"project": session.project_id(client, project), "slice": size, "device_kind": kind or None}
                ended = _run_bought(client, body, program, wait_s=wait_s, limit_s=limit_s or 3600.0)
    except UsageError:
        raise
    except CliError as error:
        say(*error.lines())
        raise typer.Exit(RUN_BASE + error.exit_code) from error
    if ended.platform:
        say(f"vxpu: the platform ended the run: {ended.platform}")
    raise typer.Exit(for_platform_end(ended.platform) if ended.platform else ended.code)


class _Program:
    """What to run, and where the agent listens."""

    def __init__(self, argv: Sequence[str], env: dict[str, str], cwd: str, socket: str) -> None:
        from vxpu.wire.exec import SOCKET_PATH

        self.argv, self.env, self.socket = argv, env, socket or SOCKET_PATH
        self.cwd = cwd or str(Path.cwd())  # the node shows this folder to the slice, read-only

    def run(self, client: Client, lease_id: str, limit_s: float | None) -> ExecEnded:
        from cli.execution import Agent, run_in_slice

        def announce(started: ExecStarted) -> None:
            if sys.stderr.isatty():
                say(f"running in {lease_id} ({started.isolation})")

        token = client.post(f"/leases/{lease_id}/token")["token"]
        agent = Agent.connect(self.socket)
        try:
            return run_in_slice(
                agent,
                lease_token=token,
                argv=self.argv,
                env=self.env,
                cwd=self.cwd,
                max_time_s=limit_s,
                on_start=announce,
            )
        finally:
            agent.close()


def _run_bought(
    client: Client, body: Mapping[str, object], program: _Program, *, wait_s: float, limit_s: float
) -> ExecEnded:
    """Reserve, wait for ready, run, and release whatever happens in between."""
    from datetime import timedelta

    from cli.clock import to_wire
    from cli.waiting import wait_for_start

    # The end is on the server too: a killed client never leaves a slice running for ever.
    ends_at = to_wire(datetime.now(UTC) + timedelta(seconds=limit_s + wait_s + READY_WAIT_S))
    made = client.post("/reservations", {**body, "ends_at": ends_at, "queue": wait_s > 0})
    try:
        row = wait_for_start(client, made["id"], timeout_s=max(wait_s, READY_WAIT_S))
        return program.run(client, row["lease"]["id"], limit_s)
    finally:
        _release(client, made["id"])


def _release(client: Client, reservation: str) -> None:
    """A release that fails is said and changes no exit code: the reservation has an end of its own."""
    from cli.commands.reserve import released
    from cli.errors import CliError

    try:
        released(client, reservation)
    except CliError as error:
        say(f"vxpu: {reservation} is not released yet; it ends by itself", *error.lines())


def parse_environment(pairs: Sequence[str]) -> dict[str, str]:
    """``["A=1", "B"]`` -> A as given and B from the caller's environment, with the few names that are always passed on.

    Raises UsageError for a name that is not one, or is not set.
    """
    from cli.errors import UsageError

    result = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or (not equals and name not in os.environ):
            raise UsageError(f"not an environment setting: {pair!r}", suggestion="--env NAME=VALUE")
        result[name] = value if equals else os.environ[name]
    return result


@contextmanager
def _term_is_an_interrupt() -> Iterator[None]:
    """While nothing runs yet, SIGTERM must release what was bought, as Ctrl-C does."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        raise typer.Exit(128 + number)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
