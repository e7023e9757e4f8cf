"""Reads of usage that was not counted."""

from __future__ import annotations

from django.db.models import QuerySet

from allocator.models import QuarantinedUsage


def quarantined() -> QuerySet[QuarantinedUsage]:
    """Everything that was not counted, for paging."""
    return QuarantinedUsage.objects.all()
