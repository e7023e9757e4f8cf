"""Members: who may do what, where."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import IntegrityError

from identity import selectors
from identity.errors import AlreadyMember, EmailTaken, RoleMisplaced
from identity.models import Member, Role
from identity.services import audit, users
from plumbing import db
from plumbing.principal import Principal


@db.transaction
def add(*, by: Principal, email: str, name: str, role: str, project_id: UUID | None, now: datetime) -> Member:
    """Give a role to the user with this address, who is made if the tenant has none.

    Raises RoleMisplaced, NotFound (project), AlreadyMember, EmailTaken (the address is another tenant's user).
    """
    if (role == Role.MEMBER) != (project_id is not None):
        raise RoleMisplaced(
            f"Role {role} {'needs' if role == Role.MEMBER else 'takes no'} project.",
            suggestion="Name a project for members only.",
        )
    project = selectors.get_project(tenant_id=by.tenant_id, project_id=project_id) if project_id else None
    user = selectors.find_user_by_email(email=email)
    if user is None:
        user = users.add_user(tenant_id=by.tenant_id, email=email, name=name, now=now)
    elif user.tenant_id != by.tenant_id:  # seen in the system scope only
        raise EmailTaken(f"{email} is in use.", suggestion="Use another address.")
    try:
        with db.savepoint():
            member = Member.objects.create(
                tenant_id=by.tenant_id, user=user, project=project, role=role, created_at=now
            )
    except IntegrityError as error:
        raise AlreadyMember(f"{email} is {role} there.", suggestion="Nothing is left to do.") from error
    audit.record(
        tenant_id=by.tenant_id, actor_id=by.user_id, action="member.added", subject=str(member.pk), now=now,
        data={"user": str(user.pk), "role": role, "project": str(project_id) if project_id else None},
    )  # fmt: skip
    return member
