"""stdout is data, stderr is talk.

Tables on a terminal are Rich's; in a pipe they are plain columns without borders and without a width limit, and an id
is never shortened in either. A value that is not known is "n/a", never 0.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    NAME = "name"


Row = Mapping[str, Any]
Columns = Sequence[tuple[str, str]]
"""(header, dotted path into the row); a header that ends in ``>`` is aligned right."""


def say(*lines: str) -> None:
    """Talk: progress, hints, errors."""
    for line in lines:
        print(line, file=sys.stderr, flush=True)


def show_list(rows: Iterable[Row], columns: Columns, fmt: Format) -> None:
    """Many objects. `json` prints one array, `jsonl` one document a line as they come, `name` one id a line."""
    if fmt is Format.JSONL:
        for row in rows:
            print(json.dumps(row))
    elif fmt is Format.JSON:
        print(json.dumps(list(rows), indent=2))
    elif fmt is Format.NAME:
        for row in rows:
            print(_name(row))
    elif fmt is Format.CSV:
        _csv(rows, columns)
    else:
        _table([header for header, _ in columns], [[_text(dig(row, path)) for _, path in columns] for row in rows])


def show_one(row: Row, columns: Columns, fmt: Format) -> None:
    """One object; as a table it is one line a field."""
    if fmt is Format.JSON:
        print(json.dumps(row, indent=2))
    elif fmt is Format.TABLE:
        _table(["field", "value"], [[header.rstrip(">"), _text(dig(row, path))] for header, path in columns])
    else:
        show_list([row], columns, fmt)


def dig(row: Row, path: str) -> Any:
    """``dig({"a": {"b": 1}}, "a.b")`` -> 1; None when a step is missing."""
    value: Any = row
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _name(row: Row) -> str:
    return str(next((row[key] for key in ("id", "name", "number", "code") if row.get(key)), ""))


def _text(value: Any) -> str:
    if value is None:
        return "n/a"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping | list):
        return json.dumps(value, separators=(",", ":"))
    return str(value)


def _csv(rows: Iterable[Row], columns: Columns) -> None:
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([header.rstrip(">") for header, _ in columns])
    for row in rows:
        writer.writerow(["" if (value := dig(row, path)) is None else _text(value) for _, path in columns])


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if sys.stdout.isatty():
        _rich_table(headers, rows)
    else:
        _plain_table(headers, rows)


def _plain_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    names = [header.rstrip(">") for header in headers]
    widths = [max(len(line[index]) for line in [names, *rows]) for index in range(len(names))]
    for line in [[name.upper() for name in names], *rows]:
        cells = [
            cell.rjust(width) if header.endswith(">") else cell.ljust(width)
            for header, cell, width in zip(headers, line, widths, strict=True)
        ]
        print("  ".join(cells).rstrip())


def _rich_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for header in headers:
        # `fold` wraps a long id on a narrow terminal, `ellipsis` (the default) would cut it.
        table.add_column(header.rstrip(">"), justify="right" if header.endswith(">") else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console().print(table, markup=False)
