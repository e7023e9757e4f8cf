"""Reads. get_x finds exactly one or raises; list_x has an explicit order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import DecimalField, Max, Q, QuerySet, Sum

from billing.errors import CurrencyMismatch, NoAccount
from billing.models import Account, BillingPeriod, Charge, Entry, Invoice, InvoiceLine, InvoiceState
from billing.rating import cells
from billing.rating import lines as rating
from billing.rating.money import from_minor, price_of, round_half_up, to_minor
from billing.rating.periods import Span, borders_between
from billing.rating.postings import BalanceRow
from billing.rating.proration import clip_quantity
from plumbing import feed
from plumbing.errors import NotFound
from vxpu.money import (
    AccountView,
    ChargeItem,
    ChargeKind,
    CostCell,
    InvoicedCell,
    InvoiceView,
    LineView,
    SourceCost,
)

_UNSEEN = [InvoiceState.DRAFT, InvoiceState.VOID]


def account_view(account: Account) -> AccountView:
    return AccountView(
        id=account.pk, tenant_id=account.tenant_id, name=account.name, currency=account.currency, zone=account.zone,
        anchor_day=account.anchor_day, status=account.status, opened_at=account.opened_at,
    )  # fmt: skip


def get_account(*, tenant_id: UUID) -> AccountView:
    """Raises NoAccount (409)."""
    account = Account.objects.filter(tenant_id=tenant_id).first()
    if account is None:
        raise NoAccount(suggestion="Ask the operator to open one.")
    return account_view(account)


def live_charges() -> QuerySet[Charge]:
    """What holds now: neither reversed nor a reversal."""
    return Charge.objects.filter(reverses__isnull=True, superseded=False)


def item_of(charge: Charge) -> ChargeItem:
    """A live charge as the item that it was made from."""
    return ChargeItem(
        kind=charge.kind, starts_at=charge.starts_at, ends_at=charge.ends_at, quantity=charge.quantity,
        divisor=charge.divisor, unit_price=charge.unit_price, price_id=charge.price_id, text=charge.text,
        simulated=charge.simulated,
    )  # fmt: skip


def meter_of(row: Charge | InvoiceLine) -> rating.Meter:
    return rating.Meter(
        source=row.source, kind=row.kind, price_id=row.price_id, unit_price=row.unit_price, divisor=row.divisor,
        text=row.text, simulated=row.simulated,
    )  # fmt: skip


def entry_of(charge: Charge) -> rating.Entry:
    """Of a live charge."""
    return rating.Entry(meter_of(charge), charge.starts_at, charge.ends_at, charge.quantity)


def period_borders(*, account_id: UUID, starts_at: datetime, ends_at: datetime) -> list[datetime]:
    """Where billing periods meet strictly inside the range: the calendar's borders and those of closed periods.

    Who splits its items here by measured use gets exact parts; `charge` would split them in proportion to time.
    Raises NoAccount (409).
    """
    account = Account.objects.filter(pk=account_id).first()
    if account is None:
        raise NoAccount
    return borders_of(account, starts_at, ends_at)


def borders_of(account: Account, starts_at: datetime, ends_at: datetime) -> list[datetime]:
    """`period_borders` of a loaded account."""
    calendar = borders_between(starts_at, ends_at, zone=account.zone, anchor_day=account.anchor_day)
    periods = BillingPeriod.objects.filter(account=account, starts_at__lt=ends_at, ends_at__gt=starts_at)
    edges = [edge for pair in periods.values_list("starts_at", "ends_at") for edge in pair]
    return sorted({edge for edge in [*calendar, *edges] if starts_at < edge < ends_at})


def _line_view(line: InvoiceLine, currency: str) -> LineView:
    return LineView(
        kind=line.kind, source=line.source, starts_at=line.starts_at, ends_at=line.ends_at, quantity=line.quantity,
        divisor=line.divisor, unit_price=line.unit_price, price_id=line.price_id, text=line.text,
        simulated=line.simulated, amount=round_half_up(line.amount, currency), adjusts=line.adjusts_id,
        adjusts_number=str(line.adjusts) if line.adjusts else None,
    )  # fmt: skip


def invoice_view(invoice: Invoice, lines: Iterable[InvoiceLine]) -> InvoiceView:
    """The issued invoice; its period and the lines' `adjusts` should be loaded with it."""
    if invoice.issued_at is None:
        raise NotFound(f"invoice {invoice.pk} is not issued")
    period = invoice.period
    return InvoiceView(
        id=invoice.pk, tenant_id=invoice.tenant_id, account_id=invoice.account_id, account_name=invoice.account_name,
        number=str(invoice), state=invoice.state, currency=invoice.currency,
        total=round_half_up(invoice.total, invoice.currency), paid=round_half_up(invoice.paid, invoice.currency),
        zone=period.zone, starts_at=period.starts_at, ends_at=period.ends_at, issued_at=invoice.issued_at,
        content_hash=invoice.content_hash, simulated=invoice.simulated,
        lines=tuple(_line_view(line, invoice.currency) for line in lines),
    )  # fmt: skip


def lines_of(invoice: Invoice) -> list[InvoiceLine]:
    return list(invoice.lines.select_related("adjusts").order_by("position"))


def get_invoice(*, tenant_id: UUID | None, invoice_id: UUID) -> InvoiceView:
    """`tenant_id` None is the operator's view. Raises NotFound, also for another tenant's invoice."""
    mine = Q() if tenant_id is None else Q(tenant_id=tenant_id)
    found = Invoice.objects.select_related("period").filter(mine, pk=invoice_id).exclude(state__in=_UNSEEN).first()
    if found is None:
        raise NotFound("There is no such invoice.")
    return invoice_view(found, lines_of(found))


def invoice_rows(*, tenant_id: UUID | None) -> QuerySet[Invoice]:
    """Issued invoices with their periods, for paging. None is every tenant."""
    mine = Q() if tenant_id is None else Q(tenant_id=tenant_id)
    return Invoice.objects.select_related("period").filter(mine).exclude(state__in=_UNSEEN)


def list_issued(*, tenant_id: UUID | None, before: feed.Place | None, limit: int) -> list[InvoiceView]:
    """Issued invoices without their lines, the newest issue first. None is every tenant."""
    rows = feed.newest(invoice_rows(tenant_id=tenant_id), column="issued_at", before=before, limit=limit)
    return [invoice_view(row, ()) for row in rows]


def list_invoices(*, tenant_id: UUID) -> list[InvoiceView]:
    """All of a tenant's invoices, newest first, with their lines."""
    found = invoice_rows(tenant_id=tenant_id).order_by("-issued_at", "-pk")
    return [invoice_view(invoice, lines_of(invoice)) for invoice in found]


def _clipped(charge: Charge, within: Span) -> rating.Entry:
    span = Span(charge.starts_at, charge.ends_at)
    inside = Span(max(span.starts_at, within.starts_at), min(span.ends_at, within.ends_at))
    quantity = clip_quantity(charge.quantity, of=span, within=within)
    return rating.Entry(meter_of(charge), inside.starts_at, inside.ends_at, quantity)


def charged_lines(*, sources: Sequence[UUID], starts_at: datetime, ends_at: datetime) -> list[LineView]:
    """What the sources cost in [starts_at, ends_at): the lines of an invoice for just that, each rounded once.

    It reads charges, so it is right before, at and after the close. A charge across an end of the range counts in
    proportion to time. Raises CurrencyMismatch when the sources are billed in several currencies.
    """
    charges = live_charges().filter(source__in=sources, starts_at__lt=ends_at, ends_at__gt=starts_at)
    currencies = set(charges.values_list("account__currency", flat=True).distinct())
    if len(currencies) > 1:
        raise CurrencyMismatch(f"the sources are billed in {', '.join(sorted(currencies))}")
    span = Span(starts_at, ends_at)
    lines = rating.rate((_clipped(charge, span) for charge in charges), currency=next(iter(currencies), ""))
    return [
        LineView(
            kind=line.meter.kind, source=line.meter.source, starts_at=line.starts_at, ends_at=line.ends_at,
            quantity=line.quantity, divisor=line.meter.divisor, unit_price=line.meter.unit_price,
            price_id=line.meter.price_id, text=line.meter.text, simulated=line.meter.simulated, amount=line.amount,
        )
        for line in lines
    ]  # fmt: skip


def charged_amount(*, sources: Sequence[UUID], starts_at: datetime, ends_at: datetime) -> Decimal:
    """The sum of the rounded lines of `charged_lines`; Decimal(0) when there are none."""
    return sum(
        (line.amount for line in charged_lines(sources=sources, starts_at=starts_at, ends_at=ends_at)), Decimal(0)
    )


def charged_so_far(*, sources: Collection[UUID]) -> list[SourceCost]:
    """What these sources were charged, all time; a source without charges is left out."""
    sums = (
        live_charges()
        .filter(source__in=sources)
        .values("source", "unit_price", "divisor")
        .annotate(total=Sum("quantity"), until=Max("ends_at", filter=~Q(kind=str(ChargeKind.RESERVED))))
        .order_by("source", "unit_price", "divisor")
    )
    found: dict[UUID, SourceCost] = {}
    for row in sums:
        amount = price_of(quantity=row["total"], divisor=row["divisor"], unit_price=row["unit_price"])
        before = found.get(row["source"])
        ends = [at for at in (row["until"], before.until if before else None) if at is not None]
        found[row["source"]] = SourceCost(
            source=row["source"], amount=amount + (before.amount if before else 0), until=max(ends, default=None)
        )
    return list(found.values())


# Charges that lie in one part of the range are added up by the database; the few across a border are cut in Python.
_AMOUNTS = """
SELECT source, kind, unit_price, divisor, width_bucket(starts_at, %(edges)s::timestamptz[]) - 1, sum(quantity)
  FROM billing_charge
 WHERE account_id = %(account)s AND reverses_id IS NULL AND NOT superseded
   AND starts_at < %(last)s AND ends_at > %(first)s
   AND width_bucket(starts_at, %(edges)s::timestamptz[])
     = width_bucket(ends_at - interval '1 microsecond', %(edges)s::timestamptz[])
 GROUP BY 1, 2, 3, 4, 5
"""
_ACROSS = """
width_bucket(starts_at, %s::timestamptz[]) <> width_bucket(ends_at - interval '1 microsecond', %s::timestamptz[])
"""


def _amounts(account_id: UUID, edges: Sequence[datetime]) -> list[cells.Amount]:
    """Every live charge that touches [edges[0], edges[-1]), in its parts; the parts outside too."""
    values: dict[str, Any] = {"account": account_id, "edges": list(edges), "first": edges[0], "last": edges[-1]}
    with connection.cursor() as cursor:
        cursor.execute(_AMOUNTS, values)
        found = [
            cells.Amount(source, kind, unit_price, divisor, cell, int(quantity))
            for source, kind, unit_price, divisor, cell, quantity in cursor.fetchall()
        ]
    across = (
        live_charges()
        .filter(account_id=account_id, starts_at__lt=edges[-1], ends_at__gt=edges[0])
        .extra(where=[_ACROSS], params=[list(edges), list(edges)])  # noqa: S610 - no text of a caller's
    )
    for charge in across:
        found += cells.cut(charge.source, item_of(charge), edges)
    return found


def cost_cells(*, account_id: UUID, edges: Sequence[datetime]) -> list[CostCell]:
    """What was charged in each part of the range [edges[0], edges[-1]), source by source, kind by kind; exact."""
    return cells.cost_cells(_amounts(account_id, edges), cells=len(edges) - 1)


def invoiced_cells(*, account_id: UUID, edges: Sequence[datetime]) -> list[InvoicedCell]:
    """What invoices bill for service in each part of the range. Lines within it count whole, to the minor unit."""
    rows = InvoiceLine.objects.filter(
        invoice__account_id=account_id, starts_at__lt=edges[-1], ends_at__gt=edges[0]
    ).exclude(invoice__state__in=_UNSEEN)
    lines = [_line_view(row, row.invoice.currency) for row in rows.select_related("invoice", "adjusts")]
    if not lines:
        return []
    currency = rows[0].invoice.currency
    wide = sorted({*edges, *(line.starts_at for line in lines), *(line.ends_at for line in lines)})
    wide = [edge for edge in wide if not edges[0] < edge < edges[-1] or edge in edges]
    shift, inside = wide.index(edges[0]), len(edges) - 1
    weights = cells.weights_of(_amounts(account_id, wide))
    parts = [part for line in lines for part in cells.spread(line, wide, weights, currency=currency)]
    return [replace(part, cell=part.cell - shift) for part in parts if 0 <= part.cell - shift < inside]


def trial_balance(*, tenant_id: UUID | None) -> list[BalanceRow]:
    """Debits, credits and balance by ledger code; the balances of a currency add up to zero. None is every tenant."""
    mine = Q() if tenant_id is None else Q(tenant_id=tenant_id)
    money = DecimalField(max_digits=24, decimal_places=4)
    sums = (
        Entry.objects.filter(mine)
        .values("ledger_account__code", "currency")
        .annotate(
            debit=Sum("amount", filter=Q(amount__gt=0), default=Decimal(0), output_field=money),
            credit=Sum("amount", filter=Q(amount__lt=0), default=Decimal(0), output_field=money),
        )
        .order_by("currency", "ledger_account__code")
    )
    return [_balance_row(row["ledger_account__code"], row["currency"], row["debit"], row["credit"]) for row in sums]


def _balance_row(code: str, currency: str, debit: Decimal, credit: Decimal) -> BalanceRow:
    minor = to_minor(debit, currency), to_minor(-credit, currency)
    return BalanceRow(
        code=code, currency=currency, debit=from_minor(minor[0], currency), credit=from_minor(minor[1], currency),
        balance=from_minor(minor[0] - minor[1], currency),
    )  # fmt: skip
