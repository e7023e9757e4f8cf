"""The double-entry ledger: a transaction is a set of signed entries that add up to zero in each currency."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from billing.models.account import Account
from plumbing.models import TenantRow


class LedgerCode(models.TextChoices):
    """The chart of accounts. Debits are positive, credits negative."""

    RECEIVABLE = "receivable"
    REVENUE = "revenue"
    CASH = "cash"
    DEPOSITS = "deposits"


class LedgerAccount(TenantRow):
    """One code of one billing account in one currency."""

    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="ledger_accounts")
    code = models.CharField(max_length=16, choices=LedgerCode.choices)
    currency = models.CharField(max_length=3)

    class Meta:
        db_table = "billing_ledger_account"
        constraints = [
            models.UniqueConstraint(fields=["account", "code", "currency"], name="billing_ledger_account_once"),
            models.CheckConstraint(condition=Q(code__in=LedgerCode.values), name="billing_ledger_account_code"),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.currency}"


class Txn(TenantRow):
    """Inserted with all its entries in one database transaction; `entry_count` keeps later ones out."""

    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="txns")
    idempotency_key = models.CharField(max_length=200)
    posted_at = models.DateTimeField()
    text = models.CharField(max_length=500)
    entry_count = models.PositiveSmallIntegerField()
    reverses = models.OneToOneField("self", on_delete=models.PROTECT, null=True, related_name="reversed_by")

    class Meta:
        db_table = "billing_txn"
        indexes = [models.Index(fields=["account", "posted_at"], name="billing_txn_posted")]
        constraints = [
            models.UniqueConstraint(fields=["tenant_id", "idempotency_key"], name="billing_txn_key"),
            models.CheckConstraint(condition=Q(entry_count__gte=2), name="billing_txn_two_entries"),
        ]

    def __str__(self) -> str:
        return self.text


class Entry(TenantRow):
    """A signed amount: debit > 0, credit < 0."""

    txn = models.ForeignKey(Txn, on_delete=models.PROTECT, related_name="entries")
    ledger_account = models.ForeignKey(LedgerAccount, on_delete=models.PROTECT, related_name="entries")
    amount = models.DecimalField(max_digits=24, decimal_places=4)
    currency = models.CharField(max_length=3)

    class Meta:
        db_table = "billing_entry"
        constraints = [models.CheckConstraint(condition=~Q(amount=0), name="billing_entry_not_zero")]

    def __str__(self) -> str:
        return f"{self.amount} {self.currency}"
