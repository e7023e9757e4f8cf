"""login, logout, whoami, context: which server, as whom."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cli import session
from cli.output import Format, say, show_list, show_one


def login(
    server: Annotated[str, typer.Option(help="address of the market, https://...", envvar="VXPU_SERVER")],
    token_stdin: Annotated[bool, typer.Option("--token-stdin", help="read the token from standard input")] = False,
    project: Annotated[str, typer.Option(help="default project for reservations")] = "",
    name: Annotated[str, typer.Option("--context", help="name to keep this log-in under")] = "default",
) -> None:
    """Keep a personal token (vxp_pat_...) for a server, after trying it."""
    from cli.client import Client
    from cli.settings import ConfigFile, Context

    if token_stdin or not session.is_interactive():
        token = sys.stdin.readline().strip()
    else:
        token = typer.prompt("token", hide_input=True, err=True).strip()
    with Client(server, token) as client:
        me = client.get("/me")
    file = ConfigFile.load()
    file.contexts[name] = Context(server=server.rstrip("/"), token=token, project=project)
    file.current = name
    file.save()
    say(f"logged in to {server} as {me.get('name') or me.get('email') or 'you'}; kept in {file.path}")


def logout(
    name: Annotated[str, typer.Option("--context", help="log-in to forget (default: the current one)")] = "",
) -> None:
    """Forget a kept token. The token itself lives on: revoke it to end it."""
    from cli.settings import ConfigFile

    file = ConfigFile.load()
    gone = file.contexts.pop(name or file.current, None)
    file.save()
    say("logged out" if gone else "there was no such log-in")


def whoami(output: session.Output = Format.TABLE) -> None:
    """Who the token says you are."""
    with session.open_client() as client:
        me = client.get("/me")
        row = {**me, "server": client.server}
    inside = {"tenant": "tenant.id"}
    show_one(row, [(key.replace("_", " "), inside.get(key, key)) for key in row], output)


def context(
    use: Annotated[str, typer.Argument(help="make this context the current one")] = "",
    project: Annotated[str, typer.Option(help="set the default project of the context")] = "",
    output: session.Output = Format.TABLE,
) -> None:
    """List the kept log-ins, or switch to one."""
    from dataclasses import replace

    from cli.errors import UsageError
    from cli.settings import ConfigFile

    file = ConfigFile.load()
    if use and use not in file.contexts:
        raise UsageError(f"there is no context {use!r}", suggestion=f"one of: {', '.join(file.contexts) or 'none yet'}")
    if use or project:
        file.current = use or file.current
        if project:
            file.contexts[file.current] = replace(file.contexts[file.current], project=project)
        file.save()
    rows = [
        {"name": key, "server": value.server, "project": value.project or None, "current": key == file.current}
        for key, value in sorted(file.contexts.items())
    ]
    show_list(rows, (("name", "name"), ("server", "server"), ("project", "project"), ("current", "current")), output)
