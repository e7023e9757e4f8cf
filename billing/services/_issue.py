"""Write an invoice and issue it: lines, ledger, number, hash; all or nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from django.db.models import F

from billing import locks
from billing.exports.document import content_hash
from billing.models import (
    Account,
    BillingPeriod,
    Invoice,
    InvoiceLine,
    InvoiceState,
    LedgerCode,
    NumberSeries,
)
from billing.rating.lines import Line
from billing.rating.money import total_of
from billing.selectors import invoice_view, lines_of
from billing.services._gather import Gathered
from billing.services.post import post
from vxpu.money import InvoiceView

SERIES = "INV"


def _line_row(
    invoice: Invoice, period: BillingPeriod, adjusts: Invoice | None, line: Line, position: int
) -> InvoiceLine:
    meter = line.meter
    return InvoiceLine(
        tenant_id=invoice.tenant_id, invoice=invoice, position=position, service_period=period, adjusts=adjusts,
        kind=meter.kind, source=meter.source, starts_at=line.starts_at, ends_at=line.ends_at, quantity=line.quantity,
        divisor=meter.divisor, unit_price=meter.unit_price, price_id=meter.price_id, text=meter.text,
        simulated=meter.simulated, amount=line.amount, created_at=invoice.created_at,
    )  # fmt: skip


def _adjusted(home: BillingPeriod, current: BillingPeriod) -> Invoice | None:
    return None if home.pk == current.pk else home.invoices.first()


def _draft(account: Account, period: BillingPeriod, gathered: Gathered, now: datetime) -> Invoice:
    invoice = Invoice.objects.create(
        tenant_id=account.tenant_id, account=account, period=period, series=SERIES, account_name=account.name,
        currency=account.currency, created_at=now,
    )  # fmt: skip
    homes = [(part.period, _adjusted(part.period, period), part.lines) for part in gathered.parts]
    flat = [(home, adjusts, line) for home, adjusts, lines in homes for line in lines]
    InvoiceLine.objects.bulk_create(
        _line_row(invoice, home, adjusts, line, position) for position, (home, adjusts, line) in enumerate(flat, 1)
    )
    gathered.charges.update(invoice=invoice)
    return invoice


def _post(account: Account, invoice: Invoice, total: Decimal, now: datetime) -> None:
    if total:  # an invoice of nothing moves no money, and the ledger refuses entries of zero
        amounts = {LedgerCode.RECEIVABLE.value: total, LedgerCode.REVENUE.value: -total}
        post(account_id=account.pk, key=f"invoice:{invoice.pk}", text="Invoice issued", amounts=amounts, now=now)


def _next_number() -> int:
    series = locks.number_series(name=SERIES)
    NumberSeries.objects.filter(pk=series.pk).update(last_number=F("last_number") + 1)
    return series.last_number + 1


def issue(*, account: Account, period: BillingPeriod, gathered: Gathered, now: datetime) -> InvoiceView:
    """The caller holds the account. The number is taken last, so that the series is held as short as can be."""
    invoice = _draft(account, period, gathered, now)
    lines = lines_of(invoice)
    invoice.total = total_of([line.amount for line in lines], account.currency)
    invoice.simulated = any(line.simulated for line in lines)
    _post(account, invoice, invoice.total, now)
    invoice.state, invoice.issued_at, invoice.number = InvoiceState.ISSUED, now, _next_number()
    view = invoice_view(invoice, lines)
    invoice.content_hash = content_hash(view)
    invoice.save()
    return replace(view, content_hash=invoice.content_hash)
