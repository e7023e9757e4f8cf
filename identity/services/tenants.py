"""New tenants and their first admin."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError

from identity.errors import SlugTaken
from identity.models import Member, Role, Tenant, User
from identity.models.member import ROLE_SCOPES
from identity.services import audit, tokens, users
from plumbing import db
from vxpu.ids import new_uuid

FIRST_TOKEN_LIFE = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class NewTenant:
    """`token.secret` is the first admin's, shown this once."""

    tenant: Tenant
    admin: User
    token: tokens.NewToken


@db.transaction_required
def add_tenant(*, tenant_id: UUID, name: str, slug: str, now: datetime) -> Tenant:
    """The bare row. Raises SlugTaken."""
    try:
        with db.savepoint():
            return Tenant.objects.create(id=tenant_id, tenant_id=tenant_id, name=name, slug=slug, created_at=now)
    except IntegrityError as error:
        raise SlugTaken(f"There is a tenant {slug!r}.", suggestion="Choose another slug.") from error


@db.transaction
def create(
    *, actor_id: UUID | None, name: str, slug: str, admin_email: str, admin_name: str, now: datetime
) -> NewTenant:
    """A tenant with a tenant admin and a token for him. Raises SlugTaken, EmailTaken."""
    tenant = add_tenant(tenant_id=new_uuid(), name=name, slug=slug, now=now)
    admin = users.add_user(tenant_id=tenant.pk, email=admin_email, name=admin_name, now=now)
    Member.objects.create(tenant_id=tenant.pk, user=admin, role=Role.TENANT_ADMIN, created_at=now)
    audit.record(
        tenant_id=tenant.pk, actor_id=actor_id, action="tenant.created", subject=str(tenant.pk), now=now,
        data={"name": name, "slug": slug, "admin": admin.email},
    )  # fmt: skip
    token = tokens.issue(
        tenant_id=tenant.pk, user_id=admin.pk, name="first token", scopes=ROLE_SCOPES[Role.TENANT_ADMIN],
        expires_at=now + FIRST_TOKEN_LIFE, now=now, actor_id=actor_id,
    )  # fmt: skip
    return NewTenant(tenant=tenant, admin=admin, token=token)
