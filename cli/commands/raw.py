"""api: any GET or POST of the REST API, with the log-in and the retries of every other command."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Annotated

import typer

from cli import session


class Method(StrEnum):
    GET = "GET"
    POST = "POST"
    PUT = "PUT"
    DELETE = "DELETE"


def api(
    method: Annotated[Method, typer.Argument(case_sensitive=False)],
    path: Annotated[str, typer.Argument(help="/v1/offers, /offers or /api/v1/offers")],
    data: Annotated[str, typer.Option("--data", "-d", help="JSON body, or - for standard input")] = "{}",
    key: Annotated[str, typer.Option("--idempotency-key", help="made for you when not given")] = "",
) -> None:
    """Call the REST API and print the JSON answer."""
    from cli.errors import UsageError

    try:
        body = json.loads(sys.stdin.read() if data == "-" else data)
    except ValueError as error:
        raise UsageError(f"--data is not JSON: {error}") from error
    route = "/" + path.strip("/").removeprefix("api/").removeprefix("v1/")
    with session.open_client() as client:
        if method is Method.GET:
            answer = client.get(route)
        elif method is Method.POST:
            answer = client.post(route, body, key=key)
        elif method is Method.PUT:
            answer = client.put(route, body, key=key)
        else:
            client.delete(route)
            return
    print(json.dumps(answer, indent=2))
