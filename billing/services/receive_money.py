"""Money that comes in: a deposit, or the payment of an invoice."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db.models import F

from billing import locks
from billing.errors import PaymentTooLarge
from billing.models import Invoice, InvoiceState, LedgerCode, Txn
from billing.rating.postings import PostingView
from billing.selectors import get_invoice
from billing.services.post import post
from plumbing import db
from plumbing.errors import Conflict, NotFound
from vxpu.money import InvoiceView


@db.transaction
def top_up(*, account_id: UUID, amount: Decimal, key: str, now: datetime) -> PostingView:
    """A deposit of the tenant, once for a key. Raises NoAccount, KeyReused (409), Unbalanced (422)."""
    amounts = {LedgerCode.CASH.value: amount, LedgerCode.DEPOSITS.value: -amount}
    return post(account_id=account_id, key=f"top-up:{key}", text="Top-up", amounts=amounts, now=now)


@db.transaction
def pay_invoice(*, invoice_id: UUID, amount: Decimal, key: str, now: datetime) -> InvoiceView:
    """A payment towards an issued invoice, once for a key. Raises NotFound, PaymentTooLarge, KeyReused (409)."""
    invoice = Invoice.objects.filter(pk=invoice_id, number__isnull=False).first()
    if invoice is None:
        raise NotFound("There is no such invoice.")
    locks.account_for_money(account_id=invoice.account_id)
    invoice.refresh_from_db()
    is_new = not Txn.objects.filter(tenant_id=invoice.tenant_id, idempotency_key=f"payment:{key}").exists()
    if is_new and not 0 < amount <= invoice.total - invoice.paid:
        raise PaymentTooLarge(f"{amount} {invoice.currency} of {invoice.total - invoice.paid} due")
    amounts = {LedgerCode.CASH.value: amount, LedgerCode.RECEIVABLE.value: -amount}
    post(account_id=invoice.account_id, key=f"payment:{key}", text=f"Payment of {invoice}", amounts=amounts, now=now)
    if is_new:
        _mark_paid(invoice, amount, now)
    return get_invoice(tenant_id=invoice.tenant_id, invoice_id=invoice_id)


def _mark_paid(invoice: Invoice, amount: Decimal, now: datetime) -> None:
    settled = invoice.paid + amount == invoice.total
    won = Invoice.objects.filter(pk=invoice.pk, state=invoice.state, paid=invoice.paid).update(
        paid=F("paid") + amount,
        paid_at=now,
        state=InvoiceState.PAID if settled else InvoiceState.PART_PAID,
    )
    if not won:
        raise Conflict(f"invoice {invoice} changed meanwhile")
