"""Reads of this room."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db import connection
from django.db.models import OuterRef, Q, QuerySet, Value
from django.db.models.functions import Lower

from identity.models import AuditEvent, Member, Project, Role, Session, Tenant, Token, User
from identity.models.member import OPERATOR_SCOPES, ROLE_SCOPES
from plumbing.errors import NotFound
from plumbing.principal import Principal

CredentialKind = Literal["token", "session"]


def no_such(what: str) -> NotFound:
    """The error for an id that is unknown or another tenant's."""
    return NotFound(f"There is no such {what}.", suggestion="Check the id and which tenant your token is for.")


@dataclass(frozen=True, slots=True)
class Bearer:
    """The holder of a token."""

    principal: Principal
    token_id: UUID
    last_used_at: datetime | None
    expires_at: datetime


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


def _with_rights(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Tokens or sessions with their user, its roles and projects, all in one query."""
    memberships = Member.objects.filter(user_id=OuterRef("user_id")).order_by("pk")
    projects = Project.objects.filter(tenant_id=OuterRef("tenant_id")).order_by("pk")
    found: QuerySet[Any] = rows.select_related("user").annotate(
        role_list=ArraySubquery(memberships.values("role")),
        project_list=ArraySubquery(memberships.filter(project__isnull=False).values("project_id")),
        tenant_projects=ArraySubquery(projects.values("pk")),
    )
    return found


_BEARER = """
SELECT t.id, t.last_used_at, t.expires_at, t.scopes, t.user_id, t.tenant_id, u.name, u.is_operator,
       ARRAY(SELECT m.role FROM identity_member m WHERE m.user_id = t.user_id ORDER BY m.id),
       ARRAY(SELECT m.project_id FROM identity_member m WHERE m.user_id = t.user_id AND m.project_id IS NOT NULL
              ORDER BY m.id),
       ARRAY(SELECT p.id FROM identity_project p WHERE p.tenant_id = t.tenant_id ORDER BY p.id)
  FROM identity_token t JOIN identity_user u ON u.id = t.user_id
 WHERE t.digest = %s AND t.revoked_at IS NULL AND t.expires_at > %s AND u.is_active
"""


class _Holder(NamedTuple):
    """The columns of `_BEARER` from the user on."""

    user_id: UUID
    tenant_id: UUID
    name: str
    is_operator: bool
    role_list: list[str]
    project_list: list[UUID]
    tenant_projects: list[UUID]


def _principal(
    row: Any, *, token_scopes: list[str] | None, token_id: UUID | None = None, session_id: UUID | None = None
) -> Principal:
    """The holder of a row of `_with_rights`; `token_scopes` narrow what the roles allow."""
    roles = frozenset(row.role_list)
    everywhere = Role.TENANT_ADMIN in roles
    user = row if isinstance(row, _Holder) else row.user
    allowed = scopes_of(roles=roles, is_operator=user.is_operator)
    return Principal(
        user_id=row.user_id,
        tenant_id=row.tenant_id,
        name=user.name,
        roles=roles,
        scopes=allowed if token_scopes is None else _narrowed(token_scopes, allowed),
        project_ids=frozenset(row.tenant_projects if everywhere else row.project_list),
        is_operator=user.is_operator,
        token_id=token_id,
        session_id=session_id,
    )


def _live_tokens(*, now: datetime) -> QuerySet[Token]:
    return Token.objects.filter(revoked_at__isnull=True, expires_at__gt=now, user__is_active=True)


def _live_sessions(*, now: datetime) -> QuerySet[Session]:
    """A session that a token opened is dead with it."""
    token_lives = Q(token__isnull=True) | Q(token__revoked_at__isnull=True, token__expires_at__gt=now)
    return Session.objects.filter(
        token_lives, revoked_at__isnull=True, expires_at__gt=now, user__is_active=True
    ).select_related("token")


def _session_principal(row: Any) -> Principal:
    return _principal(row, token_scopes=row.token.scopes if row.token else None, session_id=row.pk)


def find_bearer(*, digest: bytes, now: datetime) -> Bearer | None:
    """Token, user, roles and projects in one query, found by the unique index on the digest. It is asked in every
    request, so it goes past the models; `_with_rights` says the same of many."""
    with connection.cursor() as cursor:
        cursor.execute(_BEARER, [digest, now])
        found = cursor.fetchone()
    if found is None:
        return None
    token_id, last_used_at, expires_at, scopes = found[:4]
    row = _Holder(*found[4:])
    return Bearer(
        principal=_principal(row, token_scopes=scopes, token_id=token_id),
        token_id=token_id,
        last_used_at=last_used_at,
        expires_at=expires_at,
    )


def find_session_principal(*, digest: bytes, now: datetime) -> Principal | None:
    """As `find_bearer`, for a session."""
    session = _with_rights(_live_sessions(now=now).filter(digest=digest)).first()
    return _session_principal(session) if session is not None else None


def map_principals(
    *, token_ids: Collection[UUID], session_ids: Collection[UUID], now: datetime
) -> dict[tuple[CredentialKind, UUID], Principal]:
    """Who still holds which of these tokens and sessions; what is dead is not in the answer. A query for each kind."""
    found: dict[tuple[CredentialKind, UUID], Principal] = {}
    if token_ids:
        for row in _with_rights(_live_tokens(now=now).filter(pk__in=token_ids)):
            found["token", row.pk] = _principal(row, token_scopes=row.scopes, token_id=row.pk)
    if session_ids:
        for row in _with_rights(_live_sessions(now=now).filter(pk__in=session_ids)):
            found["session", row.pk] = _session_principal(row)
    return found


def get_current_session(*, by: Principal) -> Session:
    """The one that the caller came with. Raises NotFound for a caller with a token."""
    found = list_sessions(by=by).filter(pk=by.session_id).select_related("user").first() if by.session_id else None
    if found is None:
        raise no_such("session")
    return found


def list_sessions(*, by: Principal) -> QuerySet[Session]:
    """The caller's own, also those that are over."""
    return Session.objects.filter(tenant_id=by.tenant_id, user_id=by.user_id).order_by("-pk")


def list_live_sessions(*, by: Principal, now: datetime) -> QuerySet[Session]:
    """The caller's browsers that are logged in."""
    return _live_sessions(now=now).filter(tenant_id=by.tenant_id, user_id=by.user_id).order_by("-pk")


@dataclass(frozen=True, slots=True)
class Profile:
    """A caller with the names of what it belongs to."""

    principal: Principal
    email: str
    has_password: bool
    tenant: Tenant
    projects: list[Project]

    @property
    def roles(self) -> list[str]:
        return sorted(self.principal.roles)

    @property
    def scopes(self) -> list[str]:
        return sorted(self.principal.scopes)


def get_profile(*, of: Principal) -> Profile:
    """Raises NotFound when the user or the tenant is gone."""
    user = get_user(tenant_id=of.tenant_id, user_id=of.user_id)
    return Profile(
        principal=of,
        email=user.email,
        has_password=user.has_usable_password(),
        tenant=get_tenant(tenant_id=of.tenant_id),
        projects=list(list_projects(tenant_id=of.tenant_id).filter(pk__in=of.project_ids)),
    )


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
    """Without regard to case, by the unique index that says the same."""
    return User.objects.alias(lowered=Lower("email")).filter(lowered=Lower(Value(email))).first()


def list_members(*, tenant_id: UUID) -> QuerySet[Member]:
    return Member.objects.filter(tenant_id=tenant_id).select_related("user", "project").order_by("pk")


def list_tokens(*, by: Principal) -> QuerySet[Token]:
    """The caller's tokens; a tenant admin sees those of the whole tenant."""
    tokens = Token.objects.filter(tenant_id=by.tenant_id).select_related("user").order_by("-pk")
    return tokens if Role.TENANT_ADMIN in by.roles or by.is_operator else tokens.filter(user_id=by.user_id)


def list_audit_events(*, tenant_id: UUID) -> QuerySet[AuditEvent]:
    return AuditEvent.objects.filter(tenant_id=tenant_id).order_by("-seq")


def list_audit_news(*, tenant_id: UUID | None, actor_id: UUID | None, action: str) -> QuerySet[AuditEvent]:
    """None is every tenant, every actor; `action` is a beginning."""
    rows = AuditEvent.objects.filter(action__startswith=action)
    if tenant_id is not None:
        rows = rows.filter(tenant_id=tenant_id)
    return rows if actor_id is None else rows.filter(actor_id=actor_id)


def find_last_audit_event(*, tenant_id: UUID) -> AuditEvent | None:
    return list_audit_events(tenant_id=tenant_id).first()
