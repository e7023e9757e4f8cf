"""Set how much a tenant or a project may hold, borrow and lend, and which cohort a tenant is in."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from identity import facade as identity
from marketplace import locks
from marketplace.models import Quota
from marketplace.selectors import tree as tree_rows
from marketplace.services._transition import SYSTEM
from marketplace.services.notices import note
from plumbing import db
from plumbing.errors import Forbidden
from vxpu.ids import encode

# What a caller may leave out: it stays as it is.
OPTIONAL = (
    "borrow_permille", "borrow_mib", "lend_permille", "lend_mib", "weight", "urgent_permille", "cohort_id",
)  # fmt: skip
OPERATORS = frozenset({"urgent_permille", "cohort_id"})


@db.transaction
def set_quota(
    *,
    tenant_id: UUID,
    project_id: UUID | None,
    nominal_permille: int,
    nominal_mib: int,
    max_reservations: int,
    by_operator: bool,
    now: datetime,
    actor: str = SYSTEM,
    **limits: Any,
) -> Quota:
    """The operator sets a tenant's own row; a tenant's admin sets those of its projects. What is held already stays.

    `limits` are any of OPTIONAL; None there is "no limit" ("the house's" for `urgent_permille`, "none" for the cohort).
    Raises Forbidden, NotFound.
    """
    if (project_id is None or OPERATORS & limits.keys()) and not by_operator:
        raise Forbidden("Only an operator sets a tenant's quota.", suggestion="Name one of your projects.")
    identity.get_tenant(tenant_id=tenant_id)
    if project_id is not None:
        identity.get_project(tenant_id=tenant_id, project_id=project_id)
    figures = {
        "nominal_permille": nominal_permille, "nominal_mib": nominal_mib, "max_reservations": max_reservations,
        **limits,
    }  # fmt: skip
    _lock_ways(tenant_id, figures.get("cohort_id"))
    before = Quota.objects.filter(tenant_id=tenant_id, project_id=project_id).values(*figures).first()
    quota, _ = Quota.objects.update_or_create(
        tenant_id=tenant_id,
        project_id=project_id,
        defaults=figures,
        create_defaults={**figures, "created_at": now},
    )
    if before != figures:
        subject = encode("ten", tenant_id) if project_id is None else encode("prj", project_id)
        note(
            tenant_id=tenant_id, project_id=project_id, kind="quota.changed", subject=subject, actor=actor, now=now,
            data={"before": _plain(before), "after": _plain(figures)},
        )  # fmt: skip
    return quota


@db.transaction_required
def _lock_ways(tenant_id: UUID, to_cohort: UUID | None) -> None:
    """Where the tenant is and where it goes: roots first, so that nobody is judged by half of a change."""
    ways = [tree_rows.way_up(cohort_id=at) for at in (tree_rows.cohort_of(tenant_id=tenant_id), to_cohort)]
    levels = {row.pk: (level, row.pk) for way in ways for level, row in enumerate(reversed(way))}
    locks.lock_cohorts(cohort_ids=sorted(levels, key=lambda cohort: levels[cohort]))


def _plain(figures: dict[str, Any] | None) -> dict[str, Any] | None:
    return figures and {
        name: encode("coh", value) if isinstance(value, UUID) else value for name, value in figures.items()
    }
