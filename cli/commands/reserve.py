"""reserve create|list|show|resize|extend|release|cancel: what was bought, now or for later."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import session
from cli.output import Format, say, show_list, show_one

if TYPE_CHECKING:
    from cli.client import Client

app = typer.Typer(help="Reservations: what, when, at which price.", no_args_is_help=True)

ROWS = (
    ("id", "id"),
    ("state", "state"),
    ("memory MiB>", "slice.memory_mib"),
    ("share ‰>", "slice.share_permille"),
    ("starts at", "starts_at"),
    ("ends at", "ends_at"),
    ("lease", "lease.id"),
    ("lease state", "lease.state"),
)
FIELDS = (
    *ROWS,
    ("project", "project"),
    ("device", "lease.device"),
    ("isolation", "lease.isolation"),
    ("ready at", "lease.ready_at"),
    ("unit price>", "price.unit_price"),
    ("currency", "price.currency"),
    ("per", "price.unit"),
    ("may start at", "earlier_start_at"),
    ("end reason", "end_reason"),
)

Id = Annotated[str, typer.Argument(metavar="RSV", help="rsv_...")]
Start = Annotated[str, typer.Option("--start", help="now, +10m, or an ISO time; your own zone unless it has an offset")]
End = Annotated[str, typer.Option("--end", help="end of the reservation (exclusive)")]
Length = Annotated[str, typer.Option("--for", help="length instead of an end: 90s, 10m, 4h")]
Key = Annotated[str, typer.Option("--idempotency-key", help="same key, same purchase: safe to repeat for 24 h")]


@app.command("create")
def create(
    memory: session.Memory = "",
    share: session.Share = "",
    project: session.Project = "",
    device: Annotated[str, typer.Option(help="this device and no other: dev_...")] = "",
    kind: Annotated[str, typer.Option(help="kind of device: cpu, nvidia, opencl")] = "",
    offer: Annotated[str, typer.Option(help="buy this offer: off_...")] = "",
    start: Start = "now",
    end: End = "",
    length: Length = "",
    queue: Annotated[bool, typer.Option("--queue", help="wait in the queue when nothing fits now")] = False,
    key: Key = "",
    output: session.Output = Format.TABLE,
) -> None:
    """Buy a slice. Exit 3 with reasons and what would fit when there is no room."""
    now = datetime.now(UTC)
    body = {
        "device_kind": kind or None,
        "device": device or None,
        "offer": offer or None,
        "queue": queue,
        "slice": None if offer and not memory else session.parse_slice(memory, share),
        **period_body(start=start, end=end, length=length, now=now),
    }
    with session.open_client() as client:
        body["project"] = session.project_id(client, project)
        made = client.post("/reservations", body, key=key)
    show_one(made, FIELDS, output)


def period_body(*, start: str, end: str, length: str, now: datetime) -> dict[str, str | None]:
    """`starts_at` and `ends_at` as the API takes them; None is "now" and "until released". Raises UsageError."""
    from cli.clock import parse_duration, parse_instant, to_wire
    from cli.errors import UsageError

    if end and length:
        raise UsageError("give --end or --for, not both")
    begins = None if start == "now" else parse_instant(start, now=now)
    ends = parse_instant(end, now=now) if end else None
    if length:
        ends = (begins or now) + parse_duration(length)
    return {"starts_at": to_wire(begins) if begins else None, "ends_at": to_wire(ends) if ends else None}


@app.command("list")
def list_reservations(
    state: Annotated[str, typer.Option(help="only this state")] = "", output: session.Output = Format.TABLE
) -> None:
    """Your reservations, newest first."""
    with session.open_client() as client:
        rows = client.pages("/reservations", sort="-created_at", state=state or None)
        show_list(rows, ROWS, output)


@app.command("show")
def show(reservation: Id, output: session.Output = Format.TABLE) -> None:
    """One reservation with its lease and price."""
    with session.open_client() as client:
        show_one(client.get(f"/reservations/{reservation}"), FIELDS, output)


@app.command("resize")
def resize(
    reservation: Id, memory: session.Memory = "", share: session.Share = "", output: session.Output = Format.TABLE
) -> None:
    """Change the size while it runs; the program notices nothing but room."""
    with session.open_client() as client:
        size = client.get(f"/reservations/{reservation}")["slice"]
        wanted = session.parse_slice(memory or f"{size['memory_mib']}MiB", share or str(size["share_permille"]))
        show_one(client.post(f"/reservations/{reservation}/resize", {"slice": wanted}), FIELDS, output)


@app.command("extend")
def extend(reservation: Id, end: End = "", length: Length = "", output: session.Output = Format.TABLE) -> None:
    """Move the end: --end TIME, or --for DURATION from now."""
    from cli.errors import UsageError

    body = period_body(start="now", end=end, length=length, now=datetime.now(UTC))
    if body["ends_at"] is None:
        raise UsageError("say until when", suggestion="--end 2026-12-01T18:00 or --for 2h")
    with session.open_client() as client:
        show_one(client.post(f"/reservations/{reservation}/extend", {"ends_at": body["ends_at"]}), FIELDS, output)


@app.command("start-earlier")
def start_earlier(reservation: Id, output: session.Output = Format.TABLE) -> None:
    """Take the earlier start that was offered; the booked length stays."""
    with session.open_client() as client:
        show_one(client.post(f"/reservations/{reservation}/start-earlier"), FIELDS, output)


@app.command("release")
def release(reservation: Id, output: session.Output = Format.TABLE) -> None:
    """Give the slice back now. Releasing twice is fine."""
    with session.open_client() as client:
        show_one(released(client, reservation), (*FIELDS, ("already ended", "already_ended")), output)


@app.command("cancel")
def cancel(
    reservation: Id,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="do not ask")] = False,
    output: session.Output = Format.TABLE,
) -> None:
    """Give up a reservation, started or not; asks first."""
    from cli.errors import UsageError

    with session.open_client() as client:
        row = client.get(f"/reservations/{reservation}")
        if not yes:
            question = f"cancel {reservation} ({row['state']}, {row['starts_at']} .. {row['ends_at'] or 'open'})?"
            if not session.is_interactive() or not typer.confirm(question, err=True):
                raise UsageError("not confirmed; nothing was changed", suggestion="repeat with --yes")
        show_one(released(client, reservation), (*FIELDS, ("already ended", "already_ended")), output)
    say("time that was delivered stays on the bill")


ENDED = frozenset({"completed", "cancelled", "expired", "rejected", "failed", "no_show"})


def released(client: Client, reservation: str) -> dict[str, Any]:
    """Release by REST; a reservation that had ended before says `already_ended`."""
    before = client.get(f"/reservations/{reservation}")
    if before["state"] in ENDED:
        return {**before, "already_ended": True}
    after: dict[str, Any] = client.post(f"/reservations/{reservation}/release")
    return {**after, "already_ended": False}
