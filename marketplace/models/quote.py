"""A quote: what a wish would cost, at a price that is held for a short time. It takes no capacity."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from marketplace.models.offer import Offer
from plumbing.models import TenantRow


class Quote(TenantRow):
    """What was asked, and the terms that were told. `starts_at` None is "now", whenever it is used.

    `device_*` describe the device that would be taken, the base of the price; empty when nothing fits.
    `agreed_prices` are the prices of the quoted period (`marketplace.rating.agreed`); None when nothing was promised.
    Used once: a guarded update in the transaction that books.
    """

    project_id = models.UUIDField()
    requested_by = models.UUIDField()

    memory_mib = models.BigIntegerField()
    share_permille = models.PositiveSmallIntegerField()
    offer = models.ForeignKey(Offer, on_delete=models.PROTECT, null=True, blank=True)
    device_kind = models.CharField(max_length=32, blank=True)
    wanted_device_id = models.UUIDField(null=True, blank=True)
    isolation_at_least = models.CharField(max_length=32, blank=True)
    policy = models.CharField(max_length=32, blank=True)
    device_models = models.JSONField(default=list, db_default=[], blank=True)
    pool = models.CharField(max_length=64, blank=True, default="", db_default="")
    site = models.CharField(max_length=64, blank=True, default="", db_default="")
    near = models.CharField(max_length=64, blank=True, default="", db_default="")
    cores_milli = models.BigIntegerField(default=0, db_default=0)
    host_mib = models.BigIntegerField(default=0, db_default=0)
    copy_permille = models.PositiveSmallIntegerField(default=0, db_default=0)
    preemptible = models.BooleanField(default=False, db_default=False)
    starts_at = models.DateTimeField(null=True, blank=True)
    ends_at = models.DateTimeField(null=True, blank=True)

    device_id = models.UUIDField(null=True, blank=True)
    device_model = models.CharField(max_length=128, blank=True)
    device_mib = models.BigIntegerField(null=True, blank=True)
    device_isolation = models.CharField(max_length=32, blank=True)
    device_simulated = models.BooleanField(default=False)
    agreed_prices = models.JSONField(null=True, blank=True)

    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True, blank=True)
    reservation_id = models.UUIDField(null=True, blank=True, unique=True)

    class Meta:
        db_table = "marketplace_quote"
        constraints: ClassVar = [
            models.CheckConstraint(name="quote_expires_later", condition=Q(expires_at__gt=F("created_at"))),
            models.CheckConstraint(
                name="quote_used_by_one",
                condition=Q(used_at__isnull=True, reservation_id__isnull=True)
                | Q(used_at__isnull=False, reservation_id__isnull=False, used_at__lt=F("expires_at")),
            ),
            models.CheckConstraint(
                name="quote_promises_a_device",
                condition=Q(agreed_prices__isnull=True) | Q(device_id__isnull=False, device_mib__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"quote {self.id}"
