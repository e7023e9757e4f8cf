"""Whose reservations, and what hangs on them, a caller may see and change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet

from marketplace.models.reservation import Reservation

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """None is "all": an operator has every tenant, a tenant's admin every project of it."""

    tenant_id: UUID | None = None
    project_ids: frozenset[UUID] | None = None

    def rows(self) -> QuerySet[Reservation]:
        return self.limit(Reservation.objects.all())

    def limit(self, rows: QuerySet[Row]) -> QuerySet[Row]:
        """Row-level security is the second fence; this is the first, and the only one between projects."""
        if self.tenant_id is not None:
            rows = rows.filter(tenant_id=self.tenant_id)
        return rows if self.project_ids is None else rows.filter(project_id__in=self.project_ids)

    def covers(self, *, tenant_id: UUID, project_id: UUID) -> bool:
        """Whether things of that project are within reach."""
        return self.tenant_id in {None, tenant_id} and (self.project_ids is None or project_id in self.project_ids)


EVERYWHERE = Reach()
