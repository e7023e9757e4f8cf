"""Set how much a tenant or a project may hold."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from identity import facade as identity
from marketplace.models import Quota
from marketplace.services._transition import SYSTEM
from marketplace.services.notices import note
from plumbing import db
from plumbing.errors import Forbidden
from vxpu.ids import encode


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
) -> Quota:
    """The operator sets a tenant's own row; a tenant's admin sets those of its projects. What is held already stays.

    Raises Forbidden, NotFound.
    """
    if project_id is None and not by_operator:
        raise Forbidden("Only an operator sets a tenant's quota.", suggestion="Name one of your projects.")
    identity.get_tenant(tenant_id=tenant_id)
    if project_id is not None:
        identity.get_project(tenant_id=tenant_id, project_id=project_id)
    figures = {"nominal_permille": nominal_permille, "nominal_mib": nominal_mib, "max_reservations": max_reservations}
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
            data={"before": before, "after": figures},
        )  # fmt: skip
    return quota
