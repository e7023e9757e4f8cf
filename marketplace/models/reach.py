"""Whose reservations a caller may see and change."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from marketplace.models.reservation import Reservation


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """None is "all": an operator has every tenant, a tenant's admin every project of it."""

    tenant_id: UUID | None = None
    project_ids: frozenset[UUID] | None = None

    def rows(self) -> QuerySet[Reservation]:
        """Row-level security is the second fence; this is the first, and the only one between projects."""
        rows = Reservation.objects.all()
        if self.tenant_id is not None:
            rows = rows.filter(tenant_id=self.tenant_id)
        return rows if self.project_ids is None else rows.filter(project_id__in=self.project_ids)


EVERYWHERE = Reach()
