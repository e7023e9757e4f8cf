"""News that no other row tells, written with its cause."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from marketplace.models import Notice
from marketplace.services.news import tell_event
from plumbing.db import transaction_required


@transaction_required
def note(
    *,
    tenant_id: UUID,
    kind: str,
    subject: str,
    actor: str,
    now: datetime,
    project_id: UUID | None = None,
    reason: str = "",
    data: Mapping[str, Any] | None = None,
) -> None:
    Notice.objects.create(
        tenant_id=tenant_id, kind=kind, subject=subject, project_id=project_id, actor=actor[:80],
        reason=reason[:400], data=dict(data or {}), created_at=now,
    )  # fmt: skip
    tell_event(tenant_id=tenant_id, project_id=project_id, kind=kind, subject=subject)
