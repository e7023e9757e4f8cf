"""A gang: reservations that were bought together, all or none."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from plumbing.models import TenantRow


class Together(models.TextChoices):
    """How near its members are. All but ANY also mean a device of its own for each."""

    NODE = "node"
    RACK = "rack"
    SITE = "site"
    DEVICES = "devices"
    ANY = "any"


class Gang(TenantRow):
    """`count` reservations of one wish, ranks 0 to count - 1. Each has its own lease, state, price and bill."""

    project_id = models.UUIDField()
    requested_by = models.UUIDField()
    name = models.CharField(max_length=200, blank=True, default="")
    count = models.PositiveSmallIntegerField()
    together = models.CharField(max_length=16, choices=Together)

    class Meta:
        db_table = "marketplace_gang"
        constraints: ClassVar = [models.CheckConstraint(name="gang_size", condition=Q(count__gte=1))]
        indexes: ClassVar = [models.Index(name="gang_by_tenant", fields=["tenant_id", "-created_at"])]

    def __str__(self) -> str:
        return f"gang of {self.count} {self.id}"
