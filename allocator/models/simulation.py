"""A replay of past requests, asked for by an operator."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from plumbing.models import TenantRow


class SimulationState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


S = SimulationState

# The same table as the trigger of its migration (a test compares them).
ALLOWED: dict[str, frozenset[str]] = {
    S.QUEUED: frozenset({S.RUNNING, S.FAILED, S.CANCELLED}),
    S.RUNNING: frozenset({S.DONE, S.FAILED, S.CANCELLED}),
    S.DONE: frozenset(),
    S.FAILED: frozenset(),
    S.CANCELLED: frozenset(),
}
OPEN = (S.QUEUED, S.RUNNING)


class Simulation(TenantRow):
    """The requests that arrived in [from_at, to_at), served once for each trial; the operator's row.

    `trials` as asked, the first is today's fleet and policy; `requests` as they were read when it was asked for, so
    every trial sees the same. `outcomes` one for each trial that is done, in order. A worker that took it and did not
    show progress until `seen_at` is old is dead: another takes it.
    """

    state = models.CharField(max_length=16, choices=SimulationState, default=SimulationState.QUEUED)
    version = models.PositiveIntegerField(default=1)
    started_by = models.CharField(max_length=80)
    from_at = models.DateTimeField()
    to_at = models.DateTimeField()
    trials = models.JSONField()
    requests = models.JSONField()
    outcomes = models.JSONField(default=list)
    progress_permille = models.PositiveSmallIntegerField(default=0)
    seen_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=400, default="", blank=True)

    class Meta:
        indexes = [models.Index(fields=["-created_at"], name="simulation_newest")]
        constraints = [
            models.CheckConstraint(
                condition=Q(ended_at__isnull=False, state__in=[S.DONE, S.FAILED, S.CANCELLED])
                | (Q(ended_at__isnull=True) & Q(state__in=[S.QUEUED, S.RUNNING])),
                name="simulation_end_is_known",
            ),
            models.CheckConstraint(condition=Q(to_at__gt=models.F("from_at")), name="simulation_in_order"),
        ]

    def __str__(self) -> str:
        return f"simulation {self.id} {self.state}"
