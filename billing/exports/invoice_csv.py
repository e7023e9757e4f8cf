"""An invoice as CSV (RFC 4180, UTF-8): one row a line, the same figures as everywhere."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

from vxpu.money import InvoiceView, LineView

PRICED_PLACES = 6
COLUMNS = (
    "invoice", "account", "currency", "period_start", "period_end", "issued_at", "line", "kind", "description",
    "service_start", "service_end", "quantity", "divisor", "priced_quantity", "unit_price", "amount", "simulated",
    "adjusts_invoice", "invoice_total", "source", "price_id",
)  # fmt: skip


def _text(value: str) -> str:
    """A cell that a spreadsheet would run as a formula gets a quote in front (OWASP, "CSV Injection")."""
    return f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def _priced(line: LineView) -> str:
    """quantity / divisor for people; no amount is computed from it."""
    scaled = round(Fraction(line.quantity, line.divisor) * 10**PRICED_PLACES)
    return f"{Decimal(scaled).scaleb(-PRICED_PLACES):f}"


def _row(invoice: InvoiceView, position: int, line: LineView) -> list[str]:
    zone = ZoneInfo(invoice.zone)

    def local(instant: datetime) -> str:
        return instant.astimezone(zone).isoformat(timespec="seconds")

    return [
        invoice.number, _text(invoice.account_name), invoice.currency, local(invoice.starts_at),
        local(invoice.ends_at), local(invoice.issued_at), str(position), line.kind, _text(line.text),
        local(line.starts_at), local(line.ends_at), str(line.quantity), str(line.divisor), _priced(line),
        f"{line.unit_price:f}", f"{line.amount:f}", "simulated" if line.simulated else "",
        line.adjusts_number or "", f"{invoice.total:f}", str(line.source), str(line.price_id),
    ]  # fmt: skip


def invoice_csv(invoice: InvoiceView) -> str:
    """Times are local with their offset; the amounts of all rows add up to `invoice_total`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows(_row(invoice, position, line) for position, line in enumerate(invoice.lines, start=1))
    return out.getvalue()
