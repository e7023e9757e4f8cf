"""invoice list|get and cost: what it comes to."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any

import typer

from cli import session
from cli.output import Format, show_list

app = typer.Typer(help="Invoices.", no_args_is_help=True)

ROWS = (
    ("id", "id"),
    ("number", "number"),
    ("period start", "starts_at"),
    ("period end", "ends_at"),
    ("total>", "total"),
    ("currency", "currency"),
    ("issued at", "issued_at"),
)


class InvoiceFormat(StrEnum):
    CSV = "csv"
    JSON = "json"


@app.command("list")
def list_invoices(output: session.Output = Format.TABLE) -> None:
    """Your invoices."""
    with session.open_client() as client:
        show_list(client.pages("/invoices"), ROWS, output)


@app.command("get")
def get_invoice(
    invoice: Annotated[str, typer.Argument(metavar="INV", help="inv_...")],
    fmt: Annotated[InvoiceFormat, typer.Option("--format", help="csv or json")] = InvoiceFormat.JSON,
) -> None:
    """One invoice as a file on stdout; every format has the same figures."""
    import json

    with session.open_client() as client:
        if fmt is InvoiceFormat.CSV:
            print(client.get_text(f"/invoices/{invoice}/csv"), end="")
        else:
            print(json.dumps(client.get(f"/invoices/{invoice}"), indent=2))


def cost(output: session.Output = Format.TABLE) -> None:
    """The sum of your invoices, by kind of line."""
    with session.open_client() as client:
        invoices = [client.get(f"/invoices/{row['id']}") for row in client.pages("/invoices")]
    rows = sum_by_kind(invoices)
    show_list(rows, (("kind", "kind"), ("amount>", "amount"), ("currency", "currency")), output)


def sum_by_kind(invoices: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Decimal sums of the lines' amounts per (kind, currency), and a total per currency; lines are rounded already."""
    sums: dict[tuple[str, str], Decimal] = {}
    for invoice in invoices:
        currency = str(invoice["currency"])
        for line in invoice.get("lines", []):
            for kind in (str(line["kind"]), "total"):
                sums[currency, kind] = sums.get((currency, kind), Decimal(0)) + Decimal(line["amount"])
    return [
        {"kind": kind, "amount": str(amount), "currency": currency}
        for (currency, kind), amount in sorted(
            sums.items(), key=lambda item: (item[0][0], item[0][1] == "total", item[0])
        )
    ]
