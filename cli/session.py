"""What every command starts with: the log-in in force, a client for it, and the options that all share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.output import Format

if TYPE_CHECKING:
    from cli.client import Client

Output = Annotated[Format, typer.Option("--output", "-o", metavar="FORMAT", help="table, json, jsonl, csv or name")]
Project = Annotated[str, typer.Option("--project", "-p", help="prj_... (default: the context's, or your only one)")]
Memory = Annotated[str, typer.Option("--memory", "-m", help="memory of the slice: 512MiB, 24GiB")]
Share = Annotated[str, typer.Option("--compute", "-c", help="compute share of the slice: 15%, 12.5%, or permille")]


def open_client() -> Client:
    """A client for the log-in in force. Raises NotLoggedIn."""
    from cli.client import Client
    from cli.settings import current_context

    context = current_context()
    return Client(context.server, context.token)


def project_id(client: Client, given: str) -> str:
    """`given`, else the context's project, else the only project that you are a member of. Raises UsageError."""
    from cli.errors import UsageError
    from cli.settings import current_context

    known = given or current_context().project
    if known:
        return known
    projects = list(client.pages("/projects"))
    if len(projects) == 1:
        return str(projects[0]["id"])
    names = ", ".join(f"{row['id']} ({row.get('name', '')})" for row in projects) or "none"
    raise UsageError(f"say which project pays: you can see {names}", suggestion="--project prj_...")


def parse_slice(memory: str, share: str) -> dict[str, Any]:
    """``("1GiB", "25%")`` -> the API's slice. Raises UsageError."""
    from cli.errors import UsageError
    from vxpu.units import parse_memory_mib, parse_share_permille

    if not memory or not share:
        raise UsageError("a slice needs both a memory size and a compute share", suggestion="-m 1GiB -c 25%")
    try:
        return {"memory_mib": parse_memory_mib(memory), "share_permille": parse_share_permille(share)}
    except ValueError as error:
        raise UsageError(str(error)) from error


def is_interactive() -> bool:
    """A person at a terminal, who may be asked; never in CI."""
    return os.isatty(0) and os.isatty(2) and not os.environ.get("CI")
