"""A billing period: a computed range, with what it was computed from."""

from __future__ import annotations

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import RangeOperators
from django.db import models
from django.db.models import F, Func, Q, Value

from billing.models.account import Account
from plumbing.models import TenantRow


class PeriodState(models.TextChoices):
    OPEN = "open"
    SOFT_CLOSED = "soft_closed"
    CLOSED = "closed"


ALLOWED: dict[PeriodState, frozenset[PeriodState]] = {
    PeriodState.OPEN: frozenset({PeriodState.SOFT_CLOSED, PeriodState.CLOSED}),
    PeriodState.SOFT_CLOSED: frozenset({PeriodState.OPEN, PeriodState.CLOSED}),
    PeriodState.CLOSED: frozenset(),
}


def half_open() -> Func:
    """[starts_at, ends_at) of the row as a range."""
    return Func(F("starts_at"), F("ends_at"), Value("[)"), function="tstzrange")


class BillingPeriod(TenantRow):
    """Half-open [starts_at, ends_at); no two of an account overlap, and nothing is posted into a closed one."""

    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="periods")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    zone = models.CharField(max_length=64)
    tzdata_version = models.CharField(max_length=16)
    anchor_day = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=16, choices=PeriodState.choices, default=PeriodState.OPEN)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "billing_period"
        constraints = [
            models.CheckConstraint(condition=Q(starts_at__lt=F("ends_at")), name="billing_period_not_empty"),
            models.CheckConstraint(
                condition=Q(state=PeriodState.CLOSED, closed_at__isnull=False)
                | Q(state__in=[PeriodState.OPEN, PeriodState.SOFT_CLOSED], closed_at__isnull=True),
                name="billing_period_closed_at",
            ),
            ExclusionConstraint(
                name="billing_period_no_overlap",
                expressions=[("account", RangeOperators.EQUAL), (half_open(), RangeOperators.OVERLAPS)],
            ),
        ]

    def __str__(self) -> str:
        return f"[{self.starts_at.isoformat()}, {self.ends_at.isoformat()})"
