"""The CSV file: every figure as in the invoice, and nothing that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
from datetime import UTC
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from billing.exports.document import canonical_bytes, content_hash
from billing.exports.invoice_csv import COLUMNS, invoice_csv
from tests.billing.factories import HOUR, NOON
from vxpu.money import DEVICE_HOUR, InvoiceView, LineView


def make_line(**over: Any) -> LineView:
    wanted: dict[str, Any] = {
        "kind": "used", "source": UUID(int=1), "starts_at": NOON, "ends_at": NOON + HOUR, "quantity": 900_000,
        "divisor": DEVICE_HOUR, "unit_price": Decimal("3.2000000000"), "price_id": UUID(int=7),
        "text": "Card A, 24 GiB + 25 %", "simulated": False, "amount": Decimal("0.80"), **over,
    }  # fmt: skip
    return LineView(**wanted)


def make_invoice(*lines: LineView, **over: Any) -> InvoiceView:
    wanted: dict[str, Any] = {
        "id": UUID(int=1), "tenant_id": UUID(int=2), "account_id": UUID(int=3), "account_name": "Ada Labs",
        "number": "INV-000042", "state": "issued", "currency": "EUR", "paid": Decimal("0.00"),
        "total": sum((line.amount for line in lines), Decimal("0.00")), "zone": "Europe/Berlin", "starts_at": NOON,
        "ends_at": NOON + HOUR, "issued_at": NOON + HOUR, "content_hash": "", "simulated": False, "lines": lines,
    }  # fmt: skip
    return InvoiceView(**{**wanted, **over})


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_row_says_what_when_how_much_and_at_which_price() -> None:
    row = read(invoice_csv(make_invoice(make_line())))[0]
    assert row == {
        "invoice": "INV-000042", "account": "Ada Labs", "currency": "EUR",
        "period_start": "2026-06-10T14:00:00+02:00", "period_end": "2026-06-10T15:00:00+02:00",
        "issued_at": "2026-06-10T15:00:00+02:00", "line": "1", "kind": "used",
        "description": "Card A, 24 GiB + 25 %", "service_start": "2026-06-10T14:00:00+02:00",
        "service_end": "2026-06-10T15:00:00+02:00", "quantity": "900000", "divisor": "3600000",
        "priced_quantity": "0.250000", "unit_price": "3.2000000000", "amount": "0.80", "simulated": "",
        "adjusts_invoice": "", "invoice_total": "0.80", "source": str(UUID(int=1)), "price_id": str(UUID(int=7)),
    }  # fmt: skip


def test_a_correction_and_a_simulated_device_are_marked() -> None:
    line = make_line(adjusts=UUID(int=9), adjusts_number="INV-000041", simulated=True, amount=Decimal("-0.80"))
    row = read(invoice_csv(make_invoice(line)))[0]
    assert (row["adjusts_invoice"], row["simulated"], row["amount"]) == ("INV-000041", "simulated", "-0.80")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)"])
def test_a_formula_stays_text(text: str) -> None:
    row = read(invoice_csv(make_invoice(make_line(text=text), account_name=text)))[0]
    assert (row["description"], row["account"]) == (f"'{text}", f"'{text}")


@pytest.mark.parametrize("text", ['say "hi"', "a, b; c", "卡 A · 25 %", "a'b"])
def test_text_comes_back_as_it_was(text: str) -> None:
    assert read(invoice_csv(make_invoice(make_line(text=text))))[0]["description"] == text


@given(st.lists(st.decimals("-1e9", "1e9", places=2), max_size=20))
def test_the_rows_add_up_to_the_total(amounts: list[Decimal]) -> None:
    invoice = make_invoice(*(make_line(amount=amount) for amount in amounts))
    rows = read(invoice_csv(invoice))
    assert sum((Decimal(row["amount"]) for row in rows), Decimal(0)) == invoice.total
    assert {row["invoice_total"] for row in rows} <= {f"{invoice.total:f}"}


def test_an_empty_invoice_is_a_header() -> None:
    assert invoice_csv(make_invoice()) == ",".join(COLUMNS) + "\r\n"


@given(st.integers(-(2**62), 2**62), st.integers(1, 10**9))
def test_the_priced_quantity_is_close_and_plain(quantity: int, divisor: int) -> None:
    row = read(invoice_csv(make_invoice(make_line(quantity=quantity, divisor=divisor))))[0]
    assert abs(int(row["priced_quantity"].replace(".", "")) * divisor - quantity * 10**6) * 2 <= divisor
    assert "E" not in row["priced_quantity"]


def test_the_hash_covers_content_and_not_payments() -> None:
    invoice = make_invoice(make_line())
    paid = make_invoice(make_line(), state="paid", paid=Decimal("0.80"), content_hash="x")
    elsewhere = make_invoice(make_line(), issued_at=(NOON + HOUR).astimezone(UTC))
    assert content_hash(paid) == content_hash(invoice) == content_hash(elsewhere)
    for other in (make_invoice(make_line(quantity=1)), make_invoice(make_line(), number="INV-000043"), make_invoice()):
        assert content_hash(other) != content_hash(invoice)
    assert b'"amount":"0.80"' in canonical_bytes(invoice)
