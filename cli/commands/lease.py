"""lease list|show|release|wait|usage|token: the live part of a reservation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import session
from cli.output import Format, show_list, show_one

if TYPE_CHECKING:
    from cli.client import Client

app = typer.Typer(help="Leases: slices on a device, live.", no_args_is_help=True)

ROWS = (
    ("id", "id"),
    ("state", "state"),
    ("device", "device"),
    ("memory MiB>", "slice.memory_mib"),
    ("share ‰>", "slice.share_permille"),
    ("isolation", "isolation"),
    ("starts at", "starts_at"),
    ("ends at", "ends_at"),
    ("ready at", "ready_at"),
)
FIELDS = (*ROWS, ("node", "node"), ("ended at", "ended_at"), ("end reason", "end_reason"))
WINDOWS = (
    ("window start", "window_start"),
    ("seconds>", "window_s"),
    ("granted ‰s>", "granted_permille_s"),
    ("used ‰s>", "used_permille_s"),
    ("peak MiB>", "peak_mib"),
    ("contended", "contended"),
)

Id = Annotated[str, typer.Argument(metavar="LSE", help="lse_...")]


@app.command("list")
def list_leases(output: session.Output = Format.TABLE) -> None:
    """Your leases."""
    with session.open_client() as client:
        show_list(client.pages("/leases"), ROWS, output)


@app.command("show")
def show(lease: Id, output: session.Output = Format.TABLE) -> None:
    """One lease."""
    with session.open_client() as client:
        show_one(client.get(f"/leases/{lease}"), FIELDS, output)


@app.command("wait")
def wait(
    lease: Id,
    state: Annotated[str, typer.Option("--for", help="state to wait for")] = "ready",
    timeout: Annotated[str, typer.Option(help="how long to wait; exit 9 after it")] = "5m",
    output: session.Output = Format.TABLE,
) -> None:
    """Wait until the lease is ready (or in another state)."""
    from cli.clock import parse_duration
    from cli.waiting import wait_for_lease

    with session.open_client() as client:
        row = wait_for_lease(client, lease, wanted=state, timeout_s=parse_duration(timeout).total_seconds())
        show_one(row, FIELDS, output)


@app.command("usage")
def usage(lease: Id, output: session.Output = Format.TABLE) -> None:
    """What the node measured, window by window."""
    with session.open_client() as client:
        report = client.get(f"/leases/{lease}/usage")
    if output is Format.JSON:
        show_one(report, (), output)
    else:
        show_list(report["windows"], WINDOWS, output)


@app.command("token")
def token(lease: Id, output: session.Output = Format.TABLE) -> None:
    """A short-lived lease token for the node's agent, on stdout alone."""
    with session.open_client() as client:
        answer = client.post(f"/leases/{lease}/token")
    if output is Format.TABLE:
        print(answer["token"])
    else:
        show_one(answer, (("token", "token"),), output)


@app.command("release")
def release(lease: Id, output: session.Output = Format.TABLE) -> None:
    """Give the slice back now, by its lease. Releasing twice is fine."""
    from cli.commands import reserve

    with session.open_client() as client:
        row = reserve.released(client, reservation_of(client, lease))
        show_one(row, (*reserve.FIELDS, ("already ended", "already_ended")), output)


def reservation_of(client: Client, lease: str) -> str:
    """The reservation that a lease belongs to. Raises Problem 404 for another tenant's, UsageError for none."""
    from cli.errors import CliError
    from cli.exits import ExitCode

    client.get(f"/leases/{lease}")
    for row in client.pages("/reservations", sort="-created_at"):
        current: dict[str, Any] = row.get("lease") or {}
        if current.get("id") == lease:
            return str(row["id"])
    raise CliError(f"no reservation holds {lease}", exit_code=ExitCode.NOT_FOUND)
