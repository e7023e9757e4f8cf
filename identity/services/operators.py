"""The first operator, who makes everything else."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from identity.models import Member, Role, Tenant, User
from identity.models.member import OPERATOR_SCOPES
from identity.services import audit, tenants, tokens, users
from plumbing import db

TOKEN_LIFE = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Provided:
    user: User
    is_new: bool


@db.transaction
def provide(*, tenant_id: UUID, email: str, password: str, now: datetime) -> Provided:
    """The operator tenant and its first user, made unless they exist; an existing user's password stays."""
    if not Tenant.objects.filter(pk=tenant_id).exists():
        tenants.add_tenant(tenant_id=tenant_id, name="Operator", slug="operator", now=now)
    known = User.objects.filter(tenant_id=tenant_id, is_operator=True).order_by("created_at", "pk").first()
    if known is not None:
        return Provided(user=known, is_new=False)
    user = users.add_user(
        tenant_id=tenant_id, email=email, name="Operator", now=now, password=password, is_operator=True
    )
    Member.objects.create(tenant_id=tenant_id, user=user, role=Role.TENANT_ADMIN, created_at=now)
    audit.record(tenant_id=tenant_id, actor_id=None, action="operator.created", subject=str(user.pk), now=now)
    return Provided(user=user, is_new=True)


@db.transaction
def issue_token(*, user: User, name: str, now: datetime) -> str:
    """The secret of a new token with every scope, good for a year."""
    made = tokens.issue(
        tenant_id=user.tenant_id, user_id=user.pk, name=name, scopes=OPERATOR_SCOPES, expires_at=now + TOKEN_LIFE,
        now=now, actor_id=None,
    )  # fmt: skip
    return made.secret
