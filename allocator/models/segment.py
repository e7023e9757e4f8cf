"""A segment: capacity taken on a device for a period."""

from __future__ import annotations

from django.contrib.postgres.fields import DateTimeRangeField
from django.db import models

from allocator.models.device import Device
from allocator.models.lease import Lease
from plumbing.models import TenantRow


class ModeClass(models.IntegerChoices):
    """Whole-device and shared use never overlap on a device (an exclusion constraint in the migration)."""

    SHARED = 0
    WHOLE = 1


class Segment(TenantRow):
    """The database refuses a live one that does not fit. A resize adds a row; an end cuts the period.

    `device_mib` is the device's sellable memory at booking: the base of the memory share, whatever comes later.
    """

    lease = models.ForeignKey(Lease, on_delete=models.PROTECT, related_name="segments")
    device = models.ForeignKey(Device, on_delete=models.PROTECT, related_name="segments", db_index=False)
    permille = models.PositiveIntegerField()
    mib = models.PositiveBigIntegerField()
    device_mib = models.PositiveBigIntegerField()
    period = DateTimeRangeField()
    mode_class = models.SmallIntegerField(choices=ModeClass.choices, default=ModeClass.SHARED)
    live = models.BooleanField(default=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(permille__gte=1, permille__lte=1000, mib__gte=1), name="segment_takes_something"
            ),
        ]

    def __str__(self) -> str:
        return f"segment of {self.lease_id}"
