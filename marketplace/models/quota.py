"""How much a tenant, one of its projects, or a cohort of tenants may hold at a time, and how much each used of late."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from plumbing.models import TenantRow

# What a tenant may hold until the operator says otherwise: eight whole devices of 256 GiB.
DEFAULT_NOMINAL_PERMILLE = 8_000
DEFAULT_NOMINAL_MIB = 8 * 256 * 1024
DEFAULT_MAX_RESERVATIONS = 200


class Limits(models.Model):
    """A node of the quota tree beside its nominal. None is no limit.

    `borrow_*`: how much more than its own it may use of what its siblings leave; `lend_*`: how much of its own they may
    use. `weight` is its part of what is contended, against its siblings'.
    """

    borrow_permille = models.PositiveIntegerField(null=True, blank=True, default=0, db_default=0)
    borrow_mib = models.BigIntegerField(null=True, blank=True, default=0, db_default=0)
    lend_permille = models.PositiveIntegerField(null=True, blank=True)
    lend_mib = models.BigIntegerField(null=True, blank=True)
    weight = models.PositiveIntegerField(default=1, db_default=1)

    class Meta:
        abstract = True


class Cohort(Limits, TenantRow):
    """Tenants, or cohorts, that use each other's idle quota. The operator's rows.

    Its quota is `nominal_*`, which is nobody's own, and its children's. `parent` None is a root.
    """

    name = models.CharField(max_length=120, unique=True)
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="children")
    nominal_permille = models.PositiveIntegerField(default=0)
    nominal_mib = models.BigIntegerField(default=0)

    class Meta:
        db_table = "marketplace_cohort"
        constraints: ClassVar = [
            models.CheckConstraint(name="cohort_not_negative", condition=Q(nominal_mib__gte=0) & Q(weight__gte=1)),
            models.CheckConstraint(name="cohort_not_its_own_parent", condition=~Q(parent=models.F("id"))),
        ]

    def __str__(self) -> str:
        return self.name


class Quota(Limits, TenantRow):
    """`project_id` None is the tenant's own row; a project without a row is bound by its tenant's alone.

    `nominal_*` cap the peak of overlapping reservations at every instant, over all devices (1000 permille is one
    device); `max_reservations` caps how many are not ended, queued ones included. `urgent_permille` caps what is asked
    for or held as urgent; None is the house's setting. A tenant's row may belong to a cohort; without one it borrows
    nothing.
    """

    project_id = models.UUIDField(null=True, blank=True)
    nominal_permille = models.PositiveIntegerField(default=DEFAULT_NOMINAL_PERMILLE)
    nominal_mib = models.BigIntegerField(default=DEFAULT_NOMINAL_MIB)
    max_reservations = models.PositiveIntegerField(default=DEFAULT_MAX_RESERVATIONS)
    urgent_permille = models.PositiveIntegerField(null=True, blank=True)
    cohort = models.ForeignKey(Cohort, on_delete=models.PROTECT, null=True, blank=True, related_name="tenants")

    class Meta:
        db_table = "marketplace_quota"
        constraints: ClassVar = [
            models.UniqueConstraint(
                name="one_quota_per_scope", fields=["tenant_id", "project_id"], nulls_distinct=False
            ),
            models.CheckConstraint(name="quota_not_negative", condition=Q(nominal_mib__gte=0)),
            models.CheckConstraint(name="quota_weight", condition=Q(weight__gte=1)),
            models.CheckConstraint(
                name="quota_only_tenants_have_cohorts", condition=Q(cohort__isnull=True) | Q(project_id__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tenant_id}/{self.project_id or '*'}"


class DecayedUse(TenantRow):
    """What a project used, forgotten by halves: a leaf of the tree; inner nodes are sums. `through` is on the grid of
    `matching.half_life`, and every step before it is counted once."""

    project_id = models.UUIDField(unique=True)
    permille_s = models.BigIntegerField(default=0)
    mib_s = models.BigIntegerField(default=0)
    through = models.DateTimeField()

    class Meta:
        db_table = "marketplace_decayed_use"

    def __str__(self) -> str:
        return f"{self.project_id} through {self.through}"
