"""A device: one physical card or CPU of a node that can be sold in slices."""

from __future__ import annotations

from django.db import models

from allocator.models.node import Node
from plumbing.models import TenantRow
from vxpu.states import DeviceKind, Isolation


class Device(TenantRow):
    """`version` is bumped by whoever takes capacity: that serialises bookings, under REPEATABLE READ too.

    `card` is what the agent says of an NVIDIA card beyond what every device has (`vxpu.wire.node.CardReport`).
    Readings live in a table of their own, so that a heartbeat never contends with a booking.
    """

    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="devices")
    key = models.CharField(max_length=128)
    kind = models.CharField(max_length=16, choices=[(kind.value, kind.value) for kind in DeviceKind])
    model = models.CharField(max_length=128)
    vendor = models.CharField(max_length=128)
    simulated = models.BooleanField()
    compute_units = models.PositiveIntegerField()
    memory_mib = models.PositiveBigIntegerField()
    capacity_mib = models.PositiveBigIntegerField()
    capacity_permille = models.PositiveIntegerField()
    isolation = models.CharField(max_length=24, choices=[(mode.value, mode.value) for mode in Isolation])
    isolation_detail = models.CharField(max_length=400, default="", blank=True)
    card = models.JSONField(null=True, default=None, blank=True)
    is_present = models.BooleanField(default=True)
    version = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["node", "key"], name="device_key_of_node"),
            models.CheckConstraint(
                condition=models.Q(capacity_permille__gte=1, capacity_permille__lte=1000), name="device_permille_range"
            ),
            models.CheckConstraint(
                condition=models.Q(capacity_mib__gte=1, capacity_mib__lte=models.F("memory_mib")),
                name="device_mib_range",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.key} {self.id}"


class DeviceReading(TenantRow):
    """The newest readings of a device: name -> {value, at, quality}."""

    device = models.OneToOneField(Device, on_delete=models.CASCADE, related_name="reading")
    values = models.JSONField(default=dict)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"readings of {self.device_id}"
