"""A segment: capacity taken on a device for a period."""

from __future__ import annotations

from django.contrib.postgres.fields import DateTimeRangeField, IntegerRangeField
from django.db import models

from allocator.models.device import Device
from allocator.models.lease import Lease
from allocator.models.node import Node
from plumbing.models import TenantRow


class ModeClass(models.IntegerChoices):
    """No two of these overlap on a device (an exclusion constraint in the migration)."""

    SHARED = 0
    WHOLE = 1
    MIG = 2


class Segment(TenantRow):
    """The database refuses a live one that does not fit. A resize adds a row; an end cuts the period.

    `device_mib` is the device's sellable memory at booking: the base of the memory share, whatever comes later.
    `copy_permille` is its part of the link to the host (0: what is left), `cores_milli` and `host_mib` what it takes of
    the node, `slots` the memory slots of a card that is cut by its own hardware: no two live pieces share one.
    """

    tenant_id = models.UUIDField()
    lease = models.ForeignKey(Lease, on_delete=models.PROTECT, related_name="segments")
    device = models.ForeignKey(Device, on_delete=models.PROTECT, related_name="segments", db_index=False)
    permille = models.PositiveIntegerField()
    mib = models.PositiveBigIntegerField()
    device_mib = models.PositiveBigIntegerField()
    period = DateTimeRangeField()
    mode_class = models.SmallIntegerField(choices=ModeClass.choices, default=ModeClass.SHARED)
    live = models.BooleanField(default=True)
    # Filled by a trigger from the device, which never changes its node.
    node = models.ForeignKey(
        Node, on_delete=models.PROTECT, null=True, db_constraint=False, db_index=False, related_name="+"
    )
    copy_permille = models.PositiveSmallIntegerField(default=0, db_default=0)
    cores_milli = models.PositiveBigIntegerField(default=0, db_default=0)
    host_mib = models.PositiveBigIntegerField(default=0, db_default=0)
    slots = IntegerRangeField(null=True, default=None)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(permille__gte=1, permille__lte=1000, mib__gte=1), name="segment_takes_something"
            ),
            models.CheckConstraint(condition=models.Q(copy_permille__lte=1000), name="segment_copy_range"),
        ]

    def __str__(self) -> str:
        return f"segment of {self.lease_id}"
