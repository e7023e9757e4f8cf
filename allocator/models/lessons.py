"""What the default policy has learned from past wishes."""

from __future__ import annotations

from django.db import models

from plumbing.models import TenantRow


class PoolLessons(TenantRow):
    """One row a pool, by name (empty: nodes without one). `lessons` is an `engine.lessons.Lessons` as plain values.

    `version` grows with each time that it was learned anew; `asks` is how many wishes of the past were looked at.
    """

    pool = models.CharField(max_length=64, unique=True, blank=True)
    version = models.PositiveIntegerField(default=1)
    learned_at = models.DateTimeField()
    asks = models.PositiveIntegerField()
    lessons = models.JSONField()

    def __str__(self) -> str:
        return f"lessons of {self.pool or 'no pool'}, version {self.version}"
