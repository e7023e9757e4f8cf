"""Rules by which a running reservation grows and shrinks, what they read, and what came of them."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from marketplace.models.reservation import Reservation
from plumbing.models import TenantRow


class ScaleKind(models.TextChoices):
    SCHEDULE = "schedule"
    LOAD = "load"
    PROGRESS = "progress"


class ScaleOutcome(models.TextChoices):
    APPLIED = "applied"
    REFUSED = "refused"


class ScaleRule(TenantRow):
    """`definition` is the part of its kind, as it came in: see marketplace/services/scale_rules.py."""

    reservation = models.ForeignKey(Reservation, on_delete=models.PROTECT, related_name="scale_rules")
    kind = models.CharField(max_length=16, choices=ScaleKind)
    is_enabled = models.BooleanField(default=True)
    min_permille = models.PositiveSmallIntegerField()
    min_mib = models.BigIntegerField()
    max_permille = models.PositiveSmallIntegerField()
    max_mib = models.BigIntegerField()
    cool_down_s = models.PositiveIntegerField()
    definition = models.JSONField()
    changed_at = models.DateTimeField()
    changed_by = models.CharField(max_length=80)

    class Meta:
        db_table = "marketplace_scale_rule"
        constraints: ClassVar = [
            models.CheckConstraint(
                name="scale_rule_bounds",
                condition=Q(min_permille__gte=1, min_mib__gte=1, max_permille__lte=1000)
                & Q(max_permille__gte=F("min_permille")) & Q(max_mib__gte=F("min_mib")),
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.kind} of {self.reservation_id}"


class ScaleSignal(TenantRow):
    """The last word of the tenant about its work, by name."""

    reservation = models.ForeignKey(Reservation, on_delete=models.PROTECT, related_name="scale_signals")
    name = models.CharField(max_length=16)
    value = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        db_table = "marketplace_scale_signal"
        constraints: ClassVar = [
            models.UniqueConstraint(name="one_signal_of_a_name", fields=["reservation", "name"]),
            models.CheckConstraint(name="scale_signal_value", condition=Q(value__gte=0)),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.value}"


class ScaleDecision(TenantRow):
    """A change that a rule wanted: applied, or refused with the `code` of the refusal. Append-only; a rule may be gone
    since."""

    reservation = models.ForeignKey(Reservation, on_delete=models.PROTECT, related_name="scale_decisions")
    rule_id = models.UUIDField()
    kind = models.CharField(max_length=16, choices=ScaleKind)
    outcome = models.CharField(max_length=16, choices=ScaleOutcome)
    reason = models.CharField(max_length=40)
    code = models.CharField(max_length=40, blank=True)
    from_permille = models.PositiveSmallIntegerField()
    from_mib = models.BigIntegerField()
    to_permille = models.PositiveSmallIntegerField()
    to_mib = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        db_table = "marketplace_scale_decision"
        indexes: ClassVar = [models.Index(name="scale_decision_newest", fields=["reservation", "-at"])]

    def __str__(self) -> str:
        return f"{self.outcome} {self.reason}"
