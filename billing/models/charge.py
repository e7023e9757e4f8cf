"""A charge: an integer quantity at a price over a service range; corrected by a reversal, never changed."""

from __future__ import annotations

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import RangeOperators
from django.db import models
from django.db.models import F, Q

from billing.models.account import Account
from billing.models.invoice import Invoice
from billing.models.period import half_open
from plumbing.models import TenantRow
from vxpu.money import ChargeKind

_KINDS = [str(kind) for kind in ChargeKind]


class Charge(TenantRow):
    """`reverses` takes back exactly one earlier charge, which the database then marks `superseded`.

    `invoice` is set once, by the invoice that takes the charge in. `quantity` is negative on a reversal.
    """

    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="charges")
    source = models.UUIDField()
    bucket = models.DateTimeField()
    kind = models.CharField(max_length=16)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    quantity = models.BigIntegerField()
    divisor = models.BigIntegerField()
    unit_price = models.DecimalField(max_digits=20, decimal_places=10)
    price_id = models.UUIDField()
    text = models.CharField(max_length=500)
    simulated = models.BooleanField(default=False)
    revision = models.PositiveIntegerField()
    reverses = models.OneToOneField("self", on_delete=models.PROTECT, null=True, related_name="reversed_by")
    superseded = models.BooleanField(default=False)
    invoice = models.ForeignKey(Invoice, on_delete=models.PROTECT, null=True, related_name="charges")

    class Meta:
        db_table = "billing_charge"
        indexes = [
            models.Index(fields=["source", "bucket"], name="billing_charge_bucket"),
            models.Index(
                fields=["account", "starts_at"], condition=Q(invoice__isnull=True), name="billing_charge_unbilled"
            ),
            models.Index(
                fields=["account", "starts_at"],
                condition=Q(reverses__isnull=True, superseded=False),
                name="billing_charge_of_account",
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=[str(kind) for kind in ChargeKind]), name="billing_charge_kind"
            ),
            models.CheckConstraint(condition=Q(starts_at__lt=F("ends_at")), name="billing_charge_not_empty"),
            models.CheckConstraint(condition=Q(divisor__gt=0, unit_price__gte=0), name="billing_charge_price"),
            models.CheckConstraint(
                condition=Q(reverses__isnull=True, quantity__gte=0)
                | Q(reverses__isnull=False, quantity__lte=0, superseded=False),
                name="billing_charge_sign",
            ),
            models.UniqueConstraint(
                fields=["source", "bucket", "kind", "starts_at", "ends_at", "price_id", "revision"],
                condition=Q(reverses__isnull=True),
                name="billing_charge_rated_once",
            ),
            ExclusionConstraint(
                name="billing_charge_time_once",
                expressions=[
                    ("source", RangeOperators.EQUAL),
                    ("kind", RangeOperators.EQUAL),
                    ("price_id", RangeOperators.EQUAL),
                    (half_open(), RangeOperators.OVERLAPS),
                ],
                condition=Q(reverses__isnull=True, superseded=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.quantity} of {self.source}"
