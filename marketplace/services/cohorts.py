"""The inner nodes of the quota tree: tenants that use each other's idle quota. The operator's."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError

from marketplace import locks
from marketplace.errors import CohortExists, CohortInUse, CohortRefused
from marketplace.models import Cohort
from marketplace.selectors import tree as tree_rows
from marketplace.services.notices import note
from plumbing import db
from plumbing.errors import NotFound
from vxpu.ids import encode

MOST_LEVELS = 8


@db.transaction
def create_cohort(*, name: str, now: datetime, actor: str, **figures: Any) -> Cohort:
    """`figures`: parent_id, nominal_*, borrow_*, lend_*, weight. Raises CohortExists, CohortRefused, NotFound."""
    _lock_all()
    _check_place(None, figures.get("parent_id"))
    made = Cohort(tenant_id=settings.VXPU_OPERATOR_TENANT, created_at=now, name=name, **figures)
    _save(made, force_insert=True)
    _note(made, before=None, after={"name": name, **figures}, actor=actor, now=now)
    return made


@db.transaction
def set_cohort(*, cohort_id: UUID, now: datetime, actor: str, **figures: Any) -> Cohort:
    """Change what is given. What is held already stays. Raises CohortExists, CohortRefused, NotFound."""
    _lock_all()
    row = Cohort.objects.filter(pk=cohort_id).first()
    if row is None:
        raise NotFound("There is no such cohort.", suggestion="See /api/v1/cohorts.")
    if "parent_id" in figures:
        _check_place(cohort_id, figures["parent_id"])
    before = {name: getattr(row, name) for name in figures}
    for name, value in figures.items():
        setattr(row, name, value)
    _save(row, update_fields=list(figures))
    if before != figures:
        _note(row, before=before, after=figures, actor=actor, now=now)
    return row


def _save(row: Cohort, **how: Any) -> None:
    try:
        with db.savepoint():
            row.save(**how)
    except IntegrityError as error:
        raise CohortExists(suggestion="Choose another name.") from error


@db.transaction
def delete_cohort(*, cohort_id: UUID, now: datetime, actor: str) -> None:
    """An empty one; nobody's quota changes. Raises CohortInUse while tenants or cohorts are in it, NotFound."""
    _lock_all()
    row = Cohort.objects.filter(pk=cohort_id).first()
    if row is None:
        raise NotFound("There is no such cohort.", suggestion="See /api/v1/cohorts.")
    tenants, children = row.tenants.count(), row.children.count()
    if tenants or children:
        raise CohortInUse(
            f"{tenants} tenants and {children} cohorts are in it.",
            suggestion="Put them into another cohort, or into none, first.", tenants=tenants, cohorts=children,
        )  # fmt: skip
    row.delete()
    _note(row, subject=cohort_id, kind="cohort.deleted", before=None, after=None, actor=actor, now=now)


@db.transaction_required
def _lock_all() -> None:
    """A cohort that moves takes its branch along: all are locked, roots first."""
    levels = {row.pk: len(tree_rows.way_up(cohort_id=row.pk)) for row in tree_rows.list_cohorts()}
    locks.lock_cohorts(cohort_ids=sorted(levels, key=lambda cohort: (levels[cohort], cohort)))


def _check_place(cohort_id: UUID | None, parent_id: UUID | None) -> None:
    above = [row.pk for row in tree_rows.way_up(cohort_id=parent_id)]
    if cohort_id is not None and cohort_id in above:
        raise CohortRefused("It would be above itself.", suggestion="Choose a parent outside of its branch.")
    if len(above) + _levels_of(cohort_id) > MOST_LEVELS:
        raise CohortRefused(f"There are at most {MOST_LEVELS} levels.", suggestion="Choose a parent higher up.")


def _levels_of(cohort_id: UUID | None) -> int:
    """The levels of its branch, itself among them; a new one is alone."""
    levels, level = 0, {cohort_id}
    while level:
        levels += 1
        level = set(Cohort.objects.filter(parent_id__in=level).values_list("pk", flat=True))
    return levels


def _note(
    row: Cohort,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    actor: str,
    now: datetime,
    subject: UUID | None = None,
    kind: str = "cohort.changed",
) -> None:
    """An event for operators: the row is the operator's tenant's. `subject` is its id where the row is gone."""
    plain = [
        figures and {name: str(value) if isinstance(value, UUID) else value for name, value in figures.items()}
        for figures in (before, after)
    ]
    note(
        tenant_id=row.tenant_id, kind=kind, subject=encode("coh", subject or row.pk), actor=actor, now=now,
        data={"name": row.name, "before": plain[0], "after": plain[1]},
    )  # fmt: skip
