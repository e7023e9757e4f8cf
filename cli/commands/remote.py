"""exec and logs: a program in a lease from any machine, through the server, and what it wrote of late."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import session
from cli.commands.run import parse_environment
from cli.output import Format, say, show_list, show_one

if TYPE_CHECKING:
    from cli.client import Client

ROWS = (
    ("id", "id"),
    ("command", "command"),
    ("created at", "created_at"),
    ("running", "running"),
    ("ended at", "ended_at"),
    ("code>", "code"),
    ("platform end", "platform"),
)
Lease = Annotated[str, typer.Argument(metavar="LSE", help="lse_...")]


def exec_(
    lease: Lease,
    argv: Annotated[list[str], typer.Argument(metavar="-- CMD [ARG]...", help="the program and its arguments")],
    env: Annotated[
        list[str] | None, typer.Option("--env", "-e", metavar="K=V", help="environment of the program")
    ] = None,
) -> None:
    """Run a program in a lease, from any machine, through the server.

    Its output is streamed; it has no terminal and an empty standard input. Signals reach it; when this command goes
    away the program is ended. Exit codes are those of `vxpu run` (76 node lost, 78 server unavailable).
    """
    from cli.errors import CliError, UsageError
    from cli.exits import RUN_BASE, for_platform_end
    from cli.remote import CallerLeft, follow

    try:
        body = {"argv": argv, "env": parse_environment(env or [])}
        with session.open_client() as client:
            made = client.post(f"/leases/{lease}/execs", body)
        ended = follow(made["stream_url"], made["ticket"], say=say)
    except (UsageError, CallerLeft):
        raise
    except CliError as error:
        say(*error.lines())
        raise typer.Exit(RUN_BASE + error.exit_code) from error
    if ended.platform:
        say(f"vxpu: the platform ended the run: {ended.platform}")
    raise typer.Exit(for_platform_end(ended.platform) if ended.platform else ended.code)


def logs(
    lease: Lease,
    exec_id: Annotated[str, typer.Argument(metavar="EXE", help="exe_... (default: the newest)")] = "",
    show_all: Annotated[bool, typer.Option("--list", help="list the programs of which something is kept")] = False,
    output: session.Output = Format.TABLE,
) -> None:
    """What a program of `vxpu exec` wrote last: its stdout on stdout, its stderr on stderr.

    Volatile: the server keeps the end of it (256 KiB unless set otherwise) for an hour or so, and may lose it earlier.
    """
    with session.open_client() as client:
        if show_all:
            rows = client.pages(f"/leases/{lease}/execs")
            show_list(({**row, "command": shlex.join(row["argv"])} for row in rows), ROWS, output)
            return
        log = client.get(f"/leases/{lease}/execs/{exec_id or _newest(client, lease)}")
    if output is Format.TABLE:
        _write(log)
    else:
        show_one(log, (), output)


def _newest(client: Client, lease: str) -> str:
    from cli.errors import CliError
    from cli.exits import ExitCode

    for row in client.pages(f"/leases/{lease}/execs"):
        return str(row["id"])
    raise CliError(
        f"nothing is kept of programs in {lease}",
        suggestion="only what `vxpu exec` ran is kept, and for a short time",
        exit_code=ExitCode.NOT_FOUND,
    )


def _write(log: dict[str, Any]) -> None:
    from cli.remote import write_out
    from vxpu.wire.exec import ExecOutput

    if log["truncated"]:
        say("vxpu: output_truncated: the beginning is not kept any more")
    for part in log["output"]:
        write_out(ExecOutput.model_validate(part))
