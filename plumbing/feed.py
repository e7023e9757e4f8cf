"""Newest-first reading of append-only rows by (instant, id): several tables then merge into one feed, page by page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a page ended: what is older comes next. UUIDs compare as PostgreSQL compares them."""

    at: datetime
    id: UUID


def newest(rows: QuerySet[Row], *, column: str, before: Place | None, limit: int) -> list[Row]:
    """At most `limit` rows older than `before`, newest first."""
    if before is not None:
        rows = rows.filter(Q(**{f"{column}__lt": before.at}) | Q(**{column: before.at, "pk__lt": before.id}))
    return list(rows.order_by(f"-{column}", "-pk")[:limit])
