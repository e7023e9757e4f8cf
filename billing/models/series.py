"""Counter rows for gapless numbers: a sequence would leave a gap at each rollback."""

from __future__ import annotations

from django.db import models

from plumbing.models import TenantRow


class NumberSeries(TenantRow):
    """`last_number` was given to an invoice in the transaction that raised it. A series is the operator's."""

    name = models.CharField(max_length=16, unique=True)
    last_number = models.PositiveBigIntegerField(default=0)

    class Meta:
        db_table = "billing_number_series"

    def __str__(self) -> str:
        return f"{self.name} {self.last_number}"
