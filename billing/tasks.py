"""Tasks: one service call each; idempotent."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from billing.services.close_due import close_due
from plumbing.tasks import task


@task(queue="billing")
def close_due_periods() -> None:
    """Close the calendar periods that ended so long ago that no late usage is accepted any more."""
    close_due(now=timezone.now(), collect=timedelta(seconds=settings.VXPU_LATE_LIMIT_S))
