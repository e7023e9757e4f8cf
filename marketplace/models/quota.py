"""How much a tenant, or one of its projects, may hold at a time."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from plumbing.models import TenantRow

# What a tenant may hold until the operator says otherwise: eight whole devices of 256 GiB.
DEFAULT_NOMINAL_PERMILLE = 8_000
DEFAULT_NOMINAL_MIB = 8 * 256 * 1024
DEFAULT_MAX_RESERVATIONS = 200


class Quota(TenantRow):
    """`project_id` None is the tenant's own row; a project without a row is bound by its tenant's alone.

    `nominal_*` cap the peak of overlapping reservations at every instant, over all devices (1000 permille is one
    device); `max_reservations` caps how many are not ended, queued ones included.
    """

    project_id = models.UUIDField(null=True, blank=True)
    nominal_permille = models.PositiveIntegerField(default=DEFAULT_NOMINAL_PERMILLE)
    nominal_mib = models.BigIntegerField(default=DEFAULT_NOMINAL_MIB)
    max_reservations = models.PositiveIntegerField(default=DEFAULT_MAX_RESERVATIONS)

    class Meta:
        db_table = "marketplace_quota"
        constraints: ClassVar = [
            models.UniqueConstraint(
                name="one_quota_per_scope", fields=["tenant_id", "project_id"], nulls_distinct=False
            ),
            models.CheckConstraint(name="quota_not_negative", condition=Q(nominal_mib__gte=0)),
        ]

    def __str__(self) -> str:
        return f"{self.tenant_id}/{self.project_id or '*'}"
