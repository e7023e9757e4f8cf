"""``python -m cli.reference write|check``: docs/cli.md, the help of every command, from the commands themselves."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from cli.app import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
INTRODUCTION = """# The command line

Made by `python -m cli.reference write` from the commands themselves; `make lint` says when it is not current.

Data goes to stdout, talk to stderr. `-o table|json|jsonl|csv|name`; a table in a pipe has no borders, no width limit
and whole ids. What is not known is `n/a` (empty in CSV), never 0. The log-in comes from `vxpu login`, or from
`VXPU_SERVER`, `VXPU_TOKEN` and `VXPU_PROJECT`. Every write carries an `Idempotency-Key`, and a repeat after a broken
connection carries the same one, so nothing is bought twice.

| exit code | meaning |
|---|---|
| 0, 1, 2 | done; something unexpected; wrong use or a confirmation that is missing |
| 3, 4 | no capacity; over quota or budget |
| 5, 6, 7 | not authenticated; forbidden; not found |
| 8, 9 | conflict; waited too long |
| 10, 11, 12 | pre-empted; expired or released; node lost |
| 13, 14 | rate limited; server unavailable |
| 130, 143 | interrupted; terminated |

`vxpu run` and `vxpu exec` pass their program's own code through; what the platform has to say there is 64 + the code
above (67 no capacity, 73 waited too long, 74 pre-empted, 75 expired or released, 76 node lost, 78 server unavailable).
"""


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """(full name, command), depth first, in the order of the help."""
    inner: dict[str, Any] = getattr(command, "commands", {})
    if not inner:
        yield path, command
    for name, child in inner.items():
        yield from commands(child, f"{path} {name}")


def page() -> str:
    """The whole text; the same on every machine, whatever its terminal."""
    parts = [INTRODUCTION]
    for path, command in commands(typer.main.get_command(app), "vxpu"):
        context = command.make_context(path, [], resilient_parsing=True, terminal_width=100, max_content_width=100)
        parts.append(f"## {path}\n\n```\n{command.get_help(context).strip()}\n```\n")
    return "\n".join(parts)


def main(argv: list[str]) -> int:
    if argv == ["write"]:
        PAGE.write_text(page())
        return 0
    if argv == ["check"]:
        if PAGE.exists() and PAGE.read_text() == page():
            return 0
        sys.stderr.write("docs/cli.md is not current: python -m cli.reference write\n")
        return 1
    sys.stderr.write("usage: python -m cli.reference write|check\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
