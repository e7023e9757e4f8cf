"""An invoice and its lines: a draft becomes issued in one transaction and is then fixed but for its payment columns."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from billing.models.account import Account
from billing.models.period import BillingPeriod
from plumbing.models import TenantRow


class InvoiceKind(models.TextChoices):
    INVOICE = "invoice"
    CREDIT_NOTE = "credit_note"


class InvoiceState(models.TextChoices):
    DRAFT = "draft"
    ISSUED = "issued"
    PART_PAID = "part_paid"
    PAID = "paid"
    OVERDUE = "overdue"
    VOID = "void"


_PAYABLE = frozenset({InvoiceState.PART_PAID, InvoiceState.PAID, InvoiceState.OVERDUE})
ALLOWED: dict[InvoiceState, frozenset[InvoiceState]] = {
    InvoiceState.DRAFT: frozenset({InvoiceState.ISSUED, InvoiceState.VOID}),
    InvoiceState.ISSUED: _PAYABLE,
    InvoiceState.PART_PAID: frozenset({InvoiceState.PAID, InvoiceState.OVERDUE}),
    InvoiceState.OVERDUE: frozenset({InvoiceState.PART_PAID, InvoiceState.PAID}),
    InvoiceState.PAID: frozenset(),
    InvoiceState.VOID: frozenset(),
}


class Invoice(TenantRow):
    """`series` and `number` come from a counter row in the issuing transaction, so numbers have no gap."""

    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="invoices")
    period = models.ForeignKey(BillingPeriod, on_delete=models.PROTECT, related_name="invoices")
    kind = models.CharField(max_length=16, choices=InvoiceKind.choices, default=InvoiceKind.INVOICE)
    state = models.CharField(max_length=16, choices=InvoiceState.choices, default=InvoiceState.DRAFT)
    series = models.CharField(max_length=16)
    number = models.PositiveBigIntegerField(null=True)
    account_name = models.CharField(max_length=200)
    currency = models.CharField(max_length=3)
    total = models.DecimalField(max_digits=24, decimal_places=4, default=0)
    simulated = models.BooleanField(default=False)
    issued_at = models.DateTimeField(null=True)
    content_hash = models.CharField(max_length=64, default="", blank=True)
    paid = models.DecimalField(max_digits=24, decimal_places=4, default=0)
    paid_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "billing_invoice"
        indexes = [models.Index(fields=["tenant_id", "-issued_at", "-id"], name="billing_invoice_newest")]
        constraints = [
            models.UniqueConstraint(fields=["series", "number"], name="billing_invoice_number"),
            models.UniqueConstraint(fields=["account", "period", "kind"], name="billing_invoice_once"),
            models.CheckConstraint(
                condition=Q(
                    state__in=[InvoiceState.DRAFT, InvoiceState.VOID],
                    number__isnull=True, issued_at__isnull=True, content_hash="",
                )
                | Q(
                    state__in=[InvoiceState.ISSUED, *sorted(_PAYABLE)],
                    number__isnull=False, issued_at__isnull=False, content_hash__regex=r"^[0-9a-f]{64}$",
                ),
                name="billing_invoice_issued_whole",
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.series}-{self.number:06d}" if self.number else f"{self.series} draft"


class InvoiceLine(TenantRow):
    """One amount, rounded once. `service_period` is the period it belongs to: an older one when `adjusts` is set."""

    invoice = models.ForeignKey(Invoice, on_delete=models.PROTECT, related_name="lines")
    position = models.PositiveIntegerField()
    service_period = models.ForeignKey(BillingPeriod, on_delete=models.PROTECT, related_name="lines")
    adjusts = models.ForeignKey(Invoice, on_delete=models.PROTECT, null=True, related_name="adjusted_by")
    kind = models.CharField(max_length=16)
    source = models.UUIDField()
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    quantity = models.BigIntegerField()
    divisor = models.BigIntegerField()
    unit_price = models.DecimalField(max_digits=20, decimal_places=10)
    price_id = models.UUIDField()
    text = models.CharField(max_length=500)
    simulated = models.BooleanField(default=False)
    amount = models.DecimalField(max_digits=24, decimal_places=4)

    class Meta:
        db_table = "billing_invoice_line"
        ordering = ["position"]
        indexes = [models.Index(fields=["service_period", "source"], name="billing_line_service")]
        constraints = [
            models.UniqueConstraint(fields=["invoice", "position"], name="billing_line_position"),
            models.CheckConstraint(condition=Q(starts_at__lt=F("ends_at")), name="billing_line_not_empty"),
        ]

    def __str__(self) -> str:
        return f"{self.position}. {self.text}"
