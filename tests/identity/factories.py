"""People for tests, made as the product makes them; all in the system scope."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from rest_framework.test import APIClient

from identity import selectors
from identity.models import Project, Tenant, User
from identity.models.member import ROLE_SCOPES
from identity.services import members, operators, projects, tenants, tokens
from plumbing.principal import Principal
from plumbing.rowsec import system_scope
from vxpu.ids import new_uuid


@dataclass(frozen=True)
class Person:
    """A user with a token, and a REST client that sends it."""

    user: User
    secret: str

    @property
    def tenant_id(self) -> UUID:
        return self.user.tenant_id

    @property
    def client(self) -> APIClient:
        return client_for(self.secret)

    def principal(self, *, now: datetime | None = None) -> Principal:
        with system_scope():
            found = tokens.authenticate(secret=self.secret, now=now or datetime.now(UTC))
        assert found is not None
        return found


def client_for(secret: str) -> APIClient:
    """Raises no exceptions of the product: a fault shows as a problem document with status 500."""
    return APIClient(raise_request_exception=False, headers={"Authorization": f"Bearer {secret}"})


def make_tenant(**over: Any) -> Person:
    """A tenant's first admin."""
    word = new_uuid().hex[-10:]
    wanted: dict[str, Any] = {
        "actor_id": None, "name": f"Tenant {word}", "slug": f"tenant-{word}", "admin_email": f"admin@{word}.example",
        "admin_name": "Ada Admin", "now": datetime.now(UTC), **over,
    }  # fmt: skip
    with system_scope():
        made = tenants.create(**wanted)
    return Person(user=made.admin, secret=made.token.secret)


def make_project(*, by: Person, **over: Any) -> Project:
    word = new_uuid().hex[-10:]
    wanted: dict[str, Any] = {"name": f"Project {word}", "slug": f"project-{word}", "now": datetime.now(UTC), **over}
    with system_scope():
        return projects.create(by=by.principal(), **wanted)


def make_member(*, by: Person, role: str = "member", project: Project | None = None, **over: Any) -> Person:
    """A user of the tenant with a role and a token that carries all of the role."""
    word, now = new_uuid().hex[-10:], datetime.now(UTC)
    wanted: dict[str, Any] = {"email": f"{role}@{word}.example", "name": f"Person {word}", "now": now, **over}
    principal = by.principal()
    with system_scope():
        member = members.add(by=principal, role=role, project_id=project.pk if project else None, **wanted).member
        token = tokens.create(
            by=principal, user_id=member.user_id, name="test",
            scopes={scope for scope in ROLE_SCOPES[role] if principal.may(scope)},
            expires_at=now + timedelta(days=365), now=now,
        )  # fmt: skip
    return Person(user=member.user, secret=token.secret)


def make_operator() -> Person:
    now = datetime.now(UTC)
    with system_scope():
        provided = operators.provide(
            tenant_id=settings.VXPU_OPERATOR_TENANT,
            email="operator@vxpu.example",
            password="long enough to pass",
            now=now,
        )
        return Person(user=provided.user, secret=operators.issue_token(user=provided.user, name="test", now=now))


def tenant_of(person: Person) -> Tenant:
    with system_scope():
        return selectors.get_tenant(tenant_id=person.tenant_id)
