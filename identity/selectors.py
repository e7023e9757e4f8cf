"""Reads of this room."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet

from identity.models import AuditEvent, Member, Project, Role, Tenant, Token, User
from identity.models.member import OPERATOR_SCOPES, ROLE_SCOPES
from plumbing.errors import NotFound
from plumbing.principal import Principal


def no_such(what: str) -> NotFound:
    """The error for an id that is unknown or another tenant's."""
    return NotFound(f"There is no such {what}.", suggestion="Check the id and which tenant your token is for.")


@dataclass(frozen=True, slots=True)
class Bearer:
    """The holder of a token."""

    principal: Principal
    token_id: UUID
    last_used_at: datetime | None


def scopes_of(*, roles: frozenset[str], is_operator: bool) -> frozenset[str]:
    """The most that these roles may do."""
    held = OPERATOR_SCOPES if is_operator else frozenset()
    return held.union(*(ROLE_SCOPES[role] for role in roles))


def _narrowed(token_scopes: list[str], allowed: frozenset[str]) -> frozenset[str]:
    """A token's scopes as far as its user's roles still carry them."""
    readable = {scope.replace(":write", ":read") for scope in allowed}
    kept = set()
    for scope in token_scopes:
        if scope in allowed or scope in readable:
            kept.add(scope)
        elif scope.endswith(":write") and scope.replace(":write", ":read") in readable | allowed:
            kept.add(scope.replace(":write", ":read"))
    return frozenset(kept)


def find_bearer(*, digest: bytes, now: datetime) -> Bearer | None:
    """Token, user, roles and projects in one query, found by the unique index on the digest."""
    memberships = Member.objects.filter(user_id=OuterRef("user_id")).order_by("pk")
    projects = Project.objects.filter(tenant_id=OuterRef("tenant_id")).order_by("pk")
    token = (
        Token.objects.select_related("user")
        .filter(digest=digest, revoked_at__isnull=True, expires_at__gt=now, user__is_active=True)
        .annotate(
            role_list=ArraySubquery(memberships.values("role")),
            project_list=ArraySubquery(memberships.filter(project__isnull=False).values("project_id")),
            tenant_projects=ArraySubquery(projects.values("pk")),
        )
        .first()
    )
    if token is None:
        return None
    roles = frozenset(token.role_list)
    everywhere = Role.TENANT_ADMIN in roles
    principal = Principal(
        user_id=token.user_id,
        tenant_id=token.tenant_id,
        name=token.user.name,
        roles=roles,
        scopes=_narrowed(token.scopes, scopes_of(roles=roles, is_operator=token.user.is_operator)),
        project_ids=frozenset(token.tenant_projects if everywhere else token.project_list),
        token_id=token.pk,
        is_operator=token.user.is_operator,
    )
    return Bearer(principal=principal, token_id=token.pk, last_used_at=token.last_used_at)


def get_tenant(*, tenant_id: UUID) -> Tenant:
    found = Tenant.objects.filter(pk=tenant_id).first()
    if found is None:
        raise no_such("tenant")
    return found


def list_tenants() -> QuerySet[Tenant]:
    return Tenant.objects.order_by("slug")


def get_project(*, tenant_id: UUID, project_id: UUID) -> Project:
    found = Project.objects.filter(tenant_id=tenant_id, pk=project_id).first()
    if found is None:
        raise no_such("project")
    return found


def list_projects(*, tenant_id: UUID) -> QuerySet[Project]:
    return Project.objects.filter(tenant_id=tenant_id).order_by("slug")


def get_user(*, tenant_id: UUID, user_id: UUID) -> User:
    found = User.objects.filter(tenant_id=tenant_id, pk=user_id).first()
    if found is None:
        raise no_such("user")
    return found


def find_user_by_email(*, email: str) -> User | None:
    return User.objects.filter(email__iexact=email).first()


def list_members(*, tenant_id: UUID) -> QuerySet[Member]:
    return Member.objects.filter(tenant_id=tenant_id).select_related("user", "project").order_by("pk")


def list_tokens(*, by: Principal) -> QuerySet[Token]:
    """The caller's tokens; a tenant admin sees those of the whole tenant."""
    tokens = Token.objects.filter(tenant_id=by.tenant_id).select_related("user").order_by("-pk")
    return tokens if Role.TENANT_ADMIN in by.roles or by.is_operator else tokens.filter(user_id=by.user_id)


def list_audit_events(*, tenant_id: UUID) -> QuerySet[AuditEvent]:
    return AuditEvent.objects.filter(tenant_id=tenant_id).order_by("-seq")


def find_last_audit_event(*, tenant_id: UUID) -> AuditEvent | None:
    return list_audit_events(tenant_id=tenant_id).first()
