"""What other rooms may ask of identity."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from identity import selectors
from identity.models import Project, Tenant
from identity.selectors import CredentialKind
from identity.services import audit
from plumbing.feed import Place, newest
from plumbing.principal import Principal
from plumbing.rowsec import system_scope


@dataclass(frozen=True, slots=True)
class TenantView:
    id: UUID
    name: str
    slug: str


@dataclass(frozen=True, slots=True)
class ProjectView:
    id: UUID
    tenant_id: UUID
    name: str
    slug: str


def _tenant(tenant: Tenant) -> TenantView:
    return TenantView(id=tenant.pk, name=tenant.name, slug=tenant.slug)


def _project(project: Project) -> ProjectView:
    return ProjectView(id=project.pk, tenant_id=project.tenant_id, name=project.name, slug=project.slug)


def get_project(*, tenant_id: UUID, project_id: UUID) -> ProjectView:
    """Raises NotFound, also for another tenant's project."""
    return _project(selectors.get_project(tenant_id=tenant_id, project_id=project_id))


def list_projects(*, tenant_id: UUID) -> list[ProjectView]:
    """By slug."""
    return [_project(project) for project in selectors.list_projects(tenant_id=tenant_id)]


def get_tenant(*, tenant_id: UUID) -> TenantView:
    """Raises NotFound."""
    return _tenant(selectors.get_tenant(tenant_id=tenant_id))


def list_tenants() -> list[TenantView]:
    """Every tenant that the scope shows, by slug; the operator tenant is one of them."""
    return [_tenant(tenant) for tenant in selectors.list_tenants()]


def record_audit(
    *, tenant_id: UUID, actor_id: UUID | None, action: str, subject: str, now: datetime,
    data: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Append to the tenant's audit log, in the caller's transaction, as its last step (it takes a lock).

    `action` is like ``"invoice.issued"``, `subject` an id; `data` holds JSON types, never secrets.
    """
    audit.record(tenant_id=tenant_id, actor_id=actor_id, action=action, subject=subject, now=now, data=data)


def principal_of_credential(*, kind: CredentialKind, credential_id: UUID, now: datetime) -> Principal | None:
    """Who holds a token or a session now, with the rights that it has now; None once it is revoked, expired, its user
    inactive, or (a session) the token that opened it is. For connections that outlive a request."""
    return principals_of_credentials(credentials=[(kind, credential_id)], now=now).get((kind, credential_id))


def principals_of_credentials(
    *, credentials: Collection[tuple[CredentialKind, UUID]], now: datetime
) -> dict[tuple[CredentialKind, UUID], Principal]:
    """As `principal_of_credential`, for many at once: two queries at most. Who is missing is out."""
    tokens, browsers = ({id_ for of, id_ in credentials if of == kind} for kind in ("token", "session"))
    with system_scope():
        return selectors.map_principals(token_ids=tokens, session_ids=browsers, now=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditView:
    """An entry of the audit log. `actor_id` None is the system; `subject` is a bare id or a word."""

    id: UUID
    tenant_id: UUID
    actor_id: UUID | None
    action: str
    subject: str
    data: Mapping[str, Any]
    at: datetime


def list_audit(
    *, tenant_id: UUID | None, before: Place | None, limit: int, actor_id: UUID | None = None, action: str = ""
) -> list[AuditView]:
    """Newest first. None is every tenant, every actor; `action` is a beginning, like ``"token."``."""
    rows = selectors.list_audit_news(tenant_id=tenant_id, actor_id=actor_id, action=action)
    return [
        AuditView(
            id=row.pk, tenant_id=row.tenant_id, actor_id=row.actor_id, action=row.action, subject=row.subject,
            data=row.data, at=row.created_at,
        )
        for row in newest(rows, column="created_at", before=before, limit=limit)
    ]  # fmt: skip
