"""Price books: what a device-hour costs, for whom, from when until when."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar
from uuid import UUID

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import DateTimeRangeField, RangeOperators
from django.db import models
from django.db.models import Q

from plumbing.models import TenantRow

LIST_SCOPE = "list"
ANY_SKU = "*"
# The start of the price of 0 that a new scope begins with: nobody has published it.
SINCE_EVER = datetime(2020, 1, 1, tzinfo=UTC)


def tenant_scope_name(tenant_id: UUID) -> str:
    """The `scope` of prices that one tenant alone gets."""
    return f"tenant:{tenant_id}"


class Meter(models.TextChoices):
    """`delivered`: time from ready to the end, used or idle. `reserved`: booked and not delivered (0 by default)."""

    DELIVERED = "delivered"
    RESERVED = "reserved"


class PriceBook(TenantRow):
    """Prices in one currency, for everybody (`for_tenant_id` None) or for one tenant."""

    name = models.CharField(max_length=120, unique=True)
    currency = models.CharField(max_length=3)
    for_tenant_id = models.UUIDField(null=True, blank=True)

    class Meta:
        db_table = "marketplace_price_book"

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> str:
        return LIST_SCOPE if self.for_tenant_id is None else tenant_scope_name(self.for_tenant_id)


class Price(TenantRow):
    """`unit_price` per device-hour of dominant share. `sku` is an offer's sku, a device kind, or ``*``.

    Two prices of one scope, currency, sku and meter never overlap (EXCLUDE); of a started price only the end may be
    set, once and not into the past (trigger). `valid` is half-open and on whole seconds.
    """

    book = models.ForeignKey(PriceBook, on_delete=models.PROTECT, related_name="prices")
    scope = models.CharField(max_length=48)
    currency = models.CharField(max_length=3)
    sku = models.CharField(max_length=64)
    meter = models.CharField(max_length=16, choices=Meter)
    unit_price = models.DecimalField(max_digits=20, decimal_places=10)
    valid = DateTimeRangeField()

    class Meta:
        db_table = "marketplace_price"
        constraints: ClassVar = [
            models.CheckConstraint(name="price_not_negative", condition=Q(unit_price__gte=0)),
            models.CheckConstraint(
                name="price_valid_half_open",
                condition=Q(valid__isempty=False) & Q(valid__lower_inc=True) & Q(valid__upper_inc=False),
            ),
            ExclusionConstraint(
                name="one_price_at_a_time",
                expressions=[
                    ("scope", RangeOperators.EQUAL),
                    ("currency", RangeOperators.EQUAL),
                    ("sku", RangeOperators.EQUAL),
                    ("meter", RangeOperators.EQUAL),
                    ("valid", RangeOperators.OVERLAPS),
                ],
            ),
        ]

    def __str__(self) -> str:
        return f"{self.sku} {self.meter} {self.unit_price} {self.currency}"
