"""stdout is data, stderr is talk.

Tables on a terminal are Rich's; in a pipe they are plain columns without borders and without a width limit, and an id
is never shortened in either. A value that is not known is "n/a", never 0.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    NAME = "name"


Row = Mapping[str, Any]
Columns = Sequence[tuple[str, str]]
"""(header, dotted path into the row); a header that ends in ``>`` is aligned right."""


_ID = re.compile(r"[a-z]{3}_[0-9a-z]{26}")


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
    return str(next((row[key] for key in ("id", "name", "number", "kind") if row.get(key)), ""))


_LONG_PRICE = re.compile(r"(\d+\.\d\d\d*?)0+")


def _text(value: Any) -> str:
    if value is None:
        return "n/a"
    if isinstance(value, str) and (price := _LONG_PRICE.fullmatch(value)):
        return price[1]  # "36.0000000000" is 36.00 to a reader; json keeps every digit
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
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
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for index, header in enumerate(headers):
        # Prose may wrap; an id stays whole on one line, to be copied, even where that makes a line too long.
        whole = max((len(row[index]) for row in rows if _ID.fullmatch(row[index])), default=None)
        side: Literal["left", "right"] = "right" if header.endswith(">") else "left"
        table.add_column(header.rstrip(">"), justify=side, overflow="fold", min_width=whole)
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    Console().print(table, crop=False)
