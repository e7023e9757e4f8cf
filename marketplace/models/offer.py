"""What is sold: a size, and the class of device that it is a size of."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from plumbing.models import TenantRow


class SliceProfile(TenantRow):
    """A named size, like "1/4": memory in MiB and compute in permille of one device."""

    code = models.CharField(max_length=64, unique=True)
    memory_mib = models.BigIntegerField()
    share_permille = models.PositiveSmallIntegerField()

    class Meta:
        db_table = "marketplace_slice_profile"
        constraints: ClassVar = [
            models.CheckConstraint(
                name="profile_size",
                condition=Q(memory_mib__gte=1) & Q(share_permille__gte=1) & Q(share_permille__lte=1000),
            )
        ]

    def __str__(self) -> str:
        return self.code


class Offer(TenantRow):
    """A profile of a device kind, under the name (`sku`) that prices refer to. An offer that is not `is_open` stays
    for the reservations that were made from it."""

    sku = models.CharField(max_length=64, unique=True)
    title = models.CharField(max_length=120)
    profile = models.ForeignKey(SliceProfile, on_delete=models.PROTECT, related_name="offers")
    device_kind = models.CharField(max_length=32)
    isolation_at_least = models.CharField(max_length=32, blank=True)
    policy = models.CharField(max_length=32, blank=True)
    is_open = models.BooleanField(default=True)

    class Meta:
        db_table = "marketplace_offer"

    def __str__(self) -> str:
        return self.sku
