"""Who pays, in which currency, by which calendar."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from plumbing.models import TenantRow


class AccountStatus(models.TextChoices):
    ACTIVE = "active"
    SUSPENDED = "suspended"
    CLOSED = "closed"


ALLOWED: dict[AccountStatus, frozenset[AccountStatus]] = {
    AccountStatus.ACTIVE: frozenset({AccountStatus.SUSPENDED, AccountStatus.CLOSED}),
    AccountStatus.SUSPENDED: frozenset({AccountStatus.ACTIVE, AccountStatus.CLOSED}),
    AccountStatus.CLOSED: frozenset(),
}


class Account(TenantRow):
    """One a tenant. `zone` and `anchor_day` only make ranges; the ranges are what is kept."""

    name = models.CharField(max_length=200)
    currency = models.CharField(max_length=3)
    zone = models.CharField(max_length=64)
    anchor_day = models.PositiveSmallIntegerField(default=1)
    status = models.CharField(max_length=16, choices=AccountStatus.choices, default=AccountStatus.ACTIVE)
    opened_at = models.DateTimeField()
    version = models.PositiveBigIntegerField(default=0)

    class Meta:
        db_table = "billing_account"
        constraints = [
            models.UniqueConstraint(fields=["tenant_id"], name="billing_account_one_a_tenant"),
            models.CheckConstraint(condition=Q(anchor_day__range=(1, 31)), name="billing_account_anchor_day"),
            models.CheckConstraint(condition=Q(currency__regex=r"^[A-Z]{3}$"), name="billing_account_currency"),
            models.CheckConstraint(condition=Q(status__in=AccountStatus.values), name="billing_account_status"),
        ]

    def __str__(self) -> str:
        return self.name
